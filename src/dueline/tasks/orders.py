"""Asking a server for runs of a task: when, with what, one or many."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, overload

import msgspec

from dueline.domain.durations import parse_duration
from dueline.domain.instants import format_instant
from dueline.drivers import AsyncConnection, SyncConnection
from dueline.runtime.clock import SystemClock
from dueline.tasks.transactions import Enlisted
from dueline.wire.schedules import ScheduleForm
from dueline.wire.when import duration_text, instant_text

if TYPE_CHECKING:
    from dueline.tasks.task import Task

_SCHEDULE_FIELDS = frozenset(field.encode_name for field in msgspec.structs.fields(ScheduleForm))


class Order:
    """Runs of a task that are still to be asked for. An order can be kept, used often, and made into others."""

    def __init__(
        self, task: Task[..., Any], fields: Mapping[str, Any] | None = None, *, delay_ms: int | None = None
    ) -> None:
        self._task = task
        self._fields = dict(fields or {})
        self._delay_ms = delay_ms

    def later(self, delay: str | timedelta) -> Order:
        """Due so long after they are asked for, by the clock of this machine."""
        return Order(self._task, self._fields, delay_ms=parse_duration(duration_text(delay), field="delay"))

    def at(self, moment: str | datetime) -> Order:
        """Due at an instant."""
        return Order(self._task, self._fields | {"due_at": instant_text(moment)})

    def using(self, **fields: Any) -> Order:
        """With other fields of runs: `queue`, `priority`, `tags`, `retry`, `timeout`, `dedupe_key` …"""
        plain = {name: _plain(value) for name, value in fields.items()}
        return Order(self._task, self._fields | plain, delay_ms=self._delay_ms)

    @overload
    def within(self, connection: SyncConnection) -> Enlisted[str, list[str]]: ...
    @overload
    def within(self, connection: AsyncConnection) -> Enlisted[Awaitable[str], Awaitable[list[str]]]: ...
    def within(self, connection: Any) -> Any:
        """Written on a connection to PostgreSQL of the caller's own, in its transaction. Raises Misused for another connection."""
        return Enlisted(self.to_run, connection)

    def enqueue(self, *args: Any, **kwargs: Any) -> str:
        """Ask for one run with these arguments; answers its id. Raises Invalid for arguments that do not fit, before anything is sent."""
        run = self.to_run(args, kwargs)
        return str(self._task.connect().runs.enqueue(run)["id"])

    def enqueue_many(self, many: Iterable[Mapping[str, Any]]) -> list[str]:
        """Ask for a run with each of these arguments, all or none; answers their ids in order."""
        runs = [self.to_run((), named) for named in many]
        if not runs:
            return []
        told = self._task.connect().runs.enqueue_at_once(runs, atomic=True)
        return [str(item["run"]["id"]) for item in told["items"]]

    def to_run(self, positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The run with these arguments, as the API has it; Invalid for arguments that do not fit."""
        arguments = self._task.parameters.write(positional, named)
        run = self._task.options.fields() | self._fields | {"target": self._task.target(arguments)}
        if self._delay_ms is not None:
            run["due_at"] = format_instant(SystemClock().wall_ms() + self._delay_ms)
        return run


def schedule_of(fields: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The fields of a schedule, and those of its job."""
    plain = {name: _plain(value) for name, value in fields.items()}
    schedule = {name: value for name, value in plain.items() if name in _SCHEDULE_FIELDS}
    return schedule, {name: value for name, value in plain.items() if name not in _SCHEDULE_FIELDS}


def _plain(value: Any) -> Any:
    if isinstance(value, timedelta):
        return duration_text(value)
    return instant_text(value) if isinstance(value, datetime) else value
