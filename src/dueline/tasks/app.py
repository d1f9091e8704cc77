"""An app: the tasks that belong together, and the server that they are scheduled on."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar, overload

from dueline.domain.errors import Invalid
from dueline.domain.job import DEFAULT_QUEUE
from dueline.drivers import AsyncConnection, SyncConnection
from dueline.sdk.client import PlainClient
from dueline.tasks.task import Task, default_name, make_options

P = ParamSpec("P")
R = TypeVar("R")


class App:
    """Workers load an app and carry out its tasks; other programs import it to schedule and enqueue them.

    Without `url` and `api_key` the server is the one that the settings name (`DUELINE_URL`, `DUELINE_API_KEY`), read at the first call.
    """

    def __init__(self, name: str = "app", *, url: str | None = None, api_key: str | None = None) -> None:
        self.name = name
        self.origin: str | None = None
        """`module:app`, for an app that was loaded by that name: what other processes load it by."""
        self._tasks: dict[str, Task[..., Any]] = {}
        self._url = url
        self._api_key = api_key
        self._client: PlainClient | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<app {self.name} of {len(self._tasks)} tasks>"

    @property
    def tasks(self) -> Mapping[str, Task[..., Any]]:
        """Every task by its name."""
        return MappingProxyType(self._tasks)

    @overload
    def task(self, function: Callable[P, R], /) -> Task[P, R]: ...

    @overload
    def task(
        self,
        /,
        *,
        name: str | None = None,
        queue: str = DEFAULT_QUEUE,
        retry: Mapping[str, Any] | None = None,
        timeout: str | timedelta = "30s",
        concurrency: int | None = None,
    ) -> Callable[[Callable[P, R]], Task[P, R]]: ...

    def task(
        self,
        function: Callable[..., Any] | None = None,
        /,
        *,
        name: str | None = None,
        queue: str = DEFAULT_QUEUE,
        retry: Mapping[str, Any] | None = None,
        timeout: str | timedelta = "30s",
        concurrency: int | None = None,
    ) -> Any:
        """Make a function a task, as `@app.task` or `@app.task(…)`. Its name is `module.function` unless another is given; `retry`
        and `timeout` are as jobs have them, and go with every job and run of the task; `concurrency` is how many of its runs one worker
        carries out at a time.

        Raises Invalid when the function cannot be a task, and when the name is taken.
        """
        options = make_options(queue=queue, retry=retry, timeout=timeout, concurrency=concurrency)

        def register(function: Callable[..., Any]) -> Task[..., Any]:
            task: Task[..., Any] = Task(
                function, name=name or default_name(function), options=options, connect=self.client
            )
            if task.name in self._tasks:
                raise Invalid(("name", f"there are two tasks called {task.name}: give one of them another name"))
            self._tasks[task.name] = task
            return task

        return register if function is None else register(function)

    @overload
    def enqueue(
        self,
        task: Task[..., Any] | str,
        args: Mapping[str, Any] | None = None,
        /,
        *,
        connection: None = None,
        **fields: Any,
    ) -> str: ...
    @overload
    def enqueue(
        self,
        task: Task[..., Any] | str,
        args: Mapping[str, Any] | None = None,
        /,
        *,
        connection: SyncConnection,
        **fields: Any,
    ) -> str: ...
    @overload
    def enqueue(
        self,
        task: Task[..., Any] | str,
        args: Mapping[str, Any] | None = None,
        /,
        *,
        connection: AsyncConnection,
        **fields: Any,
    ) -> Awaitable[str]: ...
    def enqueue(
        self,
        task: Task[..., Any] | str,
        args: Mapping[str, Any] | None = None,
        /,
        *,
        connection: Any = None,
        **fields: Any,
    ) -> Any:
        """Ask for one run of a task, given itself or by its name, with arguments by theirs; `fields` are other fields of runs. With a
        `connection` to PostgreSQL it is part of the transaction there, and is there if and only if that commits.

        Answers the run's id, to be awaited where the connection is asynchronous.
        """
        known = self._tasks.get(task) if isinstance(task, str) else task
        if known is None:
            raise Invalid(("task", f"{self.name} has no task {task}"))
        order = known.using(**fields)
        return order.enqueue(**args or {}) if connection is None else order.within(connection).enqueue(**args or {})

    def client(self) -> PlainClient:
        """The client of the app's server, for all threads; made at the first call."""
        with self._lock:
            if self._client is None:
                self._client = PlainClient(self._url, api_key=self._api_key)
            return self._client

    def close(self) -> None:
        """Close the connections to the server; the next call opens another."""
        if self._client is not None:
            self._client.close()
