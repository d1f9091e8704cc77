"""Asking for runs in a transaction of the caller's own: they are there if and only if it commits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from dueline.domain import limits
from dueline.domain.durations import format_duration
from dueline.domain.errors import Invalid, Misused
from dueline.domain.instants import format_instant
from dueline.domain.job import Execution, TaskTarget
from dueline.drivers import Database, Rows, Statement, database_of, run
from dueline.runtime.clock import SystemClock
from dueline.wire.problems import Problems
from dueline.wire.reading import encode, read_body
from dueline.wire.runs import AdhocInput, AdhocSpec, to_spec

One = TypeVar("One")
Many = TypeVar("Many")

_ENQUEUE = """\
SELECT dueline.enqueue(
    task => r.task, args => r.args, due_at => r.due_at, queue => r.queue, priority => r.priority, tags => r.tags,
    fairness_key => r.fairness_key, region => r.region, requires => r.requires, timeout => r.timeout, run_timeout => r.run_timeout,
    expires_after => r.expires_after, delivery => r.delivery, retry => r.retry
)
FROM json_to_recordset(?::text::json) AS r (
    task text, args json, due_at timestamptz, queue text, priority integer, tags text[], fairness_key text, region text, requires text[],
    timeout interval, run_timeout interval, expires_after interval, delivery text, retry json
)"""


_NOT_CARRIED = frozenset(Execution.__struct_fields__) - {
    *("target", "retry", "timeout_ms", "run_timeout_ms", "delivery", "expires_after_ms", "requires")
}
"""What the function does not take: it must not be lost on the way."""


class Enlisted(Generic[One, Many]):
    """An order whose runs are written on a connection of the caller's. They exist once the caller has committed, and a worker hears of
    them then; if the caller rolls back, also to a savepoint, there were none.

    With an asynchronous connection the answers are awaited. One that commits every statement by itself commits these too.
    """

    def __init__(
        self, to_run: Callable[[Sequence[Any], Mapping[str, Any]], Mapping[str, Any]], connection: Any
    ) -> None:
        """`to_run` makes a run, as the API has it, of positional and named arguments."""
        if database_of(connection) is not Database.POSTGRES:
            raise Misused(
                "runs can be enqueued in a transaction on PostgreSQL, where Dueline has its schema beside your tables. On SQLite it has its"
                " file for itself: enqueue without a connection"
            )
        self._to_run = to_run
        self._connection = connection

    def enqueue(self, *args: Any, **kwargs: Any) -> One:
        """Ask for one run with these arguments; answers its id. Raises Invalid as the server would, before anything is sent."""
        record = _record(_checked(self._to_run(args, kwargs), ""))
        run_id: One = self._write([record], _only)
        return run_id

    def enqueue_many(self, many: Iterable[Mapping[str, Any]]) -> Many:
        """Ask for a run with each of these arguments; answers their ids in order."""
        runs = [self._to_run((), named) for named in many]
        if len(runs) > limits.RUNS_PER_CALL_MAX:
            raise Invalid(("runs", f"must be at most {limits.RUNS_PER_CALL_MAX}, and are {len(runs)}"))
        records = [_record(_checked(asked, f"runs[{index}].")) for index, asked in enumerate(runs)]
        run_ids: Many = self._write(records, _all)
        return run_ids

    def _write(self, records: Sequence[Mapping[str, Any]], read: Callable[[Rows], Any]) -> Any:
        return run(self._connection, Statement(_ENQUEUE, (encode(records).decode(),)), read)


def _checked(asked: Mapping[str, Any], prefix: str) -> AdhocSpec:
    """What was asked for, held against the same rules as over HTTP."""
    problems = Problems().within(prefix)
    spec = to_spec(read_body(encode(asked), AdhocInput, problems), problems, now_ms=SystemClock().wall_ms())
    if spec.dedupe is not None:
        problems.add(
            "dedupe_key",
            "others would wait for your commit: let a constraint of your own tables say what is there once",
        )
    for name in _NOT_CARRIED:
        if getattr(spec.execution, name) is not None:
            problems.add(name, "cannot be given to a run that is written in a transaction")
    problems.raise_any()
    return spec


def _record(spec: AdhocSpec) -> dict[str, Any]:
    execution = spec.execution
    target = execution.target
    assert isinstance(target, TaskTarget)
    return {
        "task": target.task,
        "args": target.args,
        "due_at": None if spec.due_ms is None else format_instant(spec.due_ms),
        "queue": spec.queue,
        "priority": spec.priority,
        "tags": spec.tags,
        "fairness_key": spec.fairness_key,
        "region": spec.region,
        "requires": execution.requires,
        "timeout": format_duration(execution.timeout_ms),
        "run_timeout": _duration(execution.run_timeout_ms),
        "expires_after": _duration(execution.expires_after_ms),
        "delivery": execution.delivery,
        "retry": execution.retry,
    }


def _duration(duration_ms: int | None) -> str | None:
    return None if duration_ms is None else format_duration(duration_ms)


def _only(rows: Rows) -> str:
    return str(rows[0][0])


def _all(rows: Rows) -> list[str]:
    return [str(row[0]) for row in rows]
