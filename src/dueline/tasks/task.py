"""A task: a function with a name under which workers carry it out."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Generic, ParamSpec, TypeVar, overload

import msgspec

from dueline.domain import limits
from dueline.domain.errors import Invalid
from dueline.domain.job import DEFAULT_QUEUE
from dueline.drivers import AsyncConnection, SyncConnection
from dueline.sdk.client import PlainClient
from dueline.tasks.context import Context, LocalContext
from dueline.tasks.orders import Order, schedule_of
from dueline.tasks.parameters import Parameters
from dueline.tasks.transactions import Enlisted
from dueline.wire.labels import check_count, check_name, check_queue, read_duration
from dueline.wire.policies import RetryForm, to_retry
from dueline.wire.problems import Problems
from dueline.wire.reading import read_value
from dueline.wire.when import duration_text

P = ParamSpec("P")
R = TypeVar("R")

_CONCURRENCY_MAX = 1_000_000


class TaskOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How runs of a task are carried out, unless a job or an order says otherwise."""

    queue: str = DEFAULT_QUEUE
    retry: dict[str, Any] | None = None
    timeout: str = "30s"
    concurrency: int | None = None

    def fields(self) -> dict[str, Any]:
        """As jobs and runs have them in the API. How many may be under way at a time is for the workers to know."""
        fields = {"queue": self.queue, "timeout": self.timeout, "retry": self.retry}
        return {name: value for name, value in fields.items() if value is not None}


class Task(Generic[P, R]):
    """Still the function that it was made of: called, it runs here. The other methods ask a Dueline server for runs of it."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str,
        options: TaskOptions,
        connect: Callable[[], PlainClient],
    ) -> None:
        """Raises Invalid when the function cannot be a task, with every reason."""
        _check(function, name, options)
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self.options = options
        self.parameters = Parameters(function)
        self.is_async = inspect.iscoroutinefunction(function)
        self.connect = connect

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<task {self.name}>"

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run it here as a worker would, for tests: arguments go through JSON, a context is made unless the first argument is one, and
        a coroutine function is awaited to its end."""
        context, rest = (args[0], args[1:]) if args and isinstance(args[0], Context) else (LocalContext(), args)
        positional, named = self.parameters.read(self.parameters.write(rest, kwargs))
        if self.parameters.takes_context:
            positional = [context, *positional]
        result: Any = self.function(*positional, **named)
        return asyncio.run(result) if self.is_async else result

    def schedule(
        self,
        text: str | None = None,
        /,
        *,
        cron: str | None = None,
        every: str | timedelta | None = None,
        at: str | datetime | None = None,
        timezone: str | None = None,
        name: str | None = None,
        args: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Create a job that runs the task with `args` on one of: a text in any language of schedules, `cron`, `every`, `at`. Without one
        it runs when asked. `more` are other fields of schedules and jobs (`jitter`, `end_at`, `priority`, `overlap` …).

        Answers the job. Raises what the client raises, and Invalid for arguments that do not fit.
        """
        said = {"text": text, "cron": cron, "every": every, "at": at, "timezone": timezone}
        job = self.options.fields() | {"target": self.target(self.parameters.write((), args or {}))}
        if name is not None:
            job["name"] = name
        schedule, rest = schedule_of({key: value for key, value in said.items() if value is not None} | more)
        created: dict[str, Any] = self.connect().jobs.create(job | ({"schedule": schedule} if schedule else {}) | rest)
        return created

    def enqueue(self, *args: Any, **kwargs: Any) -> str:
        """Ask for one run, as soon as possible, with these arguments; answers its id."""
        return Order(self).enqueue(*args, **kwargs)

    def enqueue_many(self, many: Iterable[Mapping[str, Any]]) -> list[str]:
        """Ask for a run with each of these arguments, all or none; answers their ids in order."""
        return Order(self).enqueue_many(many)

    def later(self, delay: str | timedelta) -> Order:
        """Runs that are due after a while: `task.later("10m").enqueue(…)`."""
        return Order(self).later(delay)

    def at(self, moment: str | datetime) -> Order:
        """Runs that are due at an instant: `task.at("2026-12-24T18:00:00Z").enqueue(…)`."""
        return Order(self).at(moment)

    def using(self, **fields: Any) -> Order:
        """Runs with other fields than the task's own: `task.using(queue="slow", priority=9, tags=["mail"]).enqueue(…)`."""
        return Order(self).using(**fields)

    @overload
    def within(self, connection: SyncConnection) -> Enlisted[str, list[str]]: ...
    @overload
    def within(self, connection: AsyncConnection) -> Enlisted[Awaitable[str], Awaitable[list[str]]]: ...
    def within(self, connection: Any) -> Any:
        """Runs that are there if and only if the transaction of a connection commits: `task.within(connection).enqueue(…)`."""
        return Order(self).within(connection)

    def target(self, arguments: bytes) -> dict[str, Any]:
        """What a job or run of this task calls, as the API has it."""
        return {"type": "task", "task": self.name, "args": msgspec.Raw(arguments)}

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, with the first paragraph of the function's documentation."""
        document = inspect.getdoc(self.function)
        return self.parameters.schema() | ({"description": document.partition("\n\n")[0]} if document else {})


def default_name(function: Callable[..., Any]) -> str:
    """`module.function`: the same in every process that imports the module. Of a script it is the script's name."""
    if not inspect.isfunction(function):
        raise Invalid(("task", f"{function!r} is not a function"))
    module = function.__module__
    if module == "__main__":
        module = function.__code__.co_filename.rpartition("/")[2].removesuffix(".py")
    return f"{module}.{function.__qualname__}".replace("<locals>.", "")


def _check(function: Callable[..., Any], name: str, options: TaskOptions) -> None:
    problems = Problems()
    if not inspect.isfunction(function):
        raise Invalid(("task", f"{function!r} is not a function"))
    if function.__name__ == "<lambda>":
        problems.add("task", "a lambda has no name to be found by: write a function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        problems.add("task", f"{function.__name__} yields, and nobody would take what it yields: return a result")
    check_name(name, problems)
    check_queue(options.queue, problems)
    read_duration(options.timeout, "timeout", problems, least_ms=limits.TIMEOUT_MS_MIN, most_ms=limits.TIMEOUT_MS_MAX)
    if options.retry is not None:
        to_retry(read_value(options.retry, RetryForm, problems), problems)
    if options.concurrency is not None:
        check_count(options.concurrency, "concurrency", problems, least=1, most=_CONCURRENCY_MAX)
    problems.raise_any()


def make_options(
    *, queue: str, retry: Mapping[str, Any] | None, timeout: str | timedelta, concurrency: int | None
) -> TaskOptions:
    plain = None if retry is None else {name: duration_text(value) for name, value in retry.items()}
    return TaskOptions(queue=queue, retry=plain, timeout=duration_text(timeout), concurrency=concurrency)
