"""A whole Dueline in one object, on a clock that stands still until it is moved."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from datetime import datetime, timedelta
from threading import Thread
from types import TracebackType
from typing import Any, Self, TypeVar

from dueline.domain.durations import parse_duration
from dueline.domain.ids import parse_job_id
from dueline.domain.instants import from_datetime, parse_instant, to_datetime
from dueline.tasks.app import App
from dueline.testing.calls import Call, Respond
from dueline.testing.world import START_MS, World

T = TypeVar("T")
Json = dict[str, Any]
Span = str | timedelta


class VirtualDueline:
    """The real engine, store and worker; only time and the network are yours. Jobs are written and read as over the REST API.

    Nothing happens between the calls of these methods. May be used from plain and from async tests; not from several threads at once.
    """

    def __init__(self, *, start: str | datetime | None = None, app: App | None = None) -> None:
        self.calls: list[Call] = []
        """Every call that jobs made, in order."""
        self._respond: Respond = lambda _call: None
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="dueline-virtual", daemon=True)
        self._thread.start()
        start_ms = START_MS if start is None else _instant_ms(start)
        self._world = self._do(World.begin(start_ms, calls=self.calls, respond=lambda: self._respond))
        if app is not None:
            self.use(app)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if not self._loop.is_closed():
            self._do(self._world.end())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    @property
    def now(self) -> datetime:
        return to_datetime(self._world.now_ms)

    def advance(self, span: Span | datetime) -> None:
        """Move time on, by a span (`"3d"`, `"PT90M"`) or to a moment. Everything that becomes due happens, each at its own time."""
        self._do(self._world.advance_to(self._target_ms(span)))

    def outage(self, span: Span | datetime) -> None:
        """Let time pass with nothing running, as if every process was down; then let it come back."""
        self._do(self._world.outage_until(self._target_ms(span)))

    def respond(self, respond: Respond) -> None:
        """Answer calls from a function: it gets the Call, and gives an Answer, a status, or None for 200."""
        self._respond = respond

    def use(self, app: App) -> None:
        """Carry out the tasks of an app, besides those of others: for real, each when it is due. They take no time on the virtual clock."""
        self._world.apps.append(app)

    def create_job(self, job: Mapping[str, Any] | None = None, **fields: Any) -> Json:
        """Create a job from JSON as `POST /v1/jobs` takes it. Without a target it calls `http://target.test/`."""
        asked = {"target": {"type": "http", "url": "http://target.test/"}, **(job or {}), **fields}
        return self._do(self._world.create_job(asked))

    def job(self, job_id: str) -> Json:
        return self._do(self._world.job(parse_job_id(job_id)))

    def edit_job(self, job_id: str, **patch: Any) -> Json:
        """Change some of a job, as `PATCH /v1/jobs/{id}` does."""
        return self._do(self._world.edit_job(parse_job_id(job_id), patch))

    def pause_job(self, job_id: str, *, note: str | None = None) -> Json:
        return self._do(self._world.pause_job(parse_job_id(job_id), note))

    def resume_job(self, job_id: str) -> Json:
        return self._do(self._world.resume_job(parse_job_id(job_id)))

    def delete_job(self, job_id: str) -> None:
        self._do(self._world.delete_job(parse_job_id(job_id)))

    def run_job(self, job_id: str, *, force: bool = False) -> str:
        """Run a job now; answers the id of the run."""
        return self._do(self._world.run_job(parse_job_id(job_id), force=force))

    def put_calendar(self, name: str, *, dates: list[str] | None = None, weekdays: list[str] | None = None) -> None:
        """Write a calendar of excluded days."""
        self._do(self._world.put_calendar(name, dates or [], weekdays or []))

    def runs(self, job_id: str | None = None) -> list[Json]:
        """Runs, of one job or of all, the earliest first."""
        return self._do(self._world.runs(None if job_id is None else parse_job_id(job_id)))

    def occurrences(self, job_id: str, *, since: str | datetime, until: str | datetime) -> list[Json]:
        """Every due instant of a job between two moments, with what became of it."""
        span = (_instant_ms(since), _instant_ms(until))
        return self._do(self._world.occurrences(parse_job_id(job_id), *span))

    def audit(self, job_id: str, *, since: str | datetime | None = None) -> Json:
        """The account of a job up to now: expected, missed, doubled, late."""
        since_ms = 0 if since is None else _instant_ms(since)
        return self._do(self._world.audit(parse_job_id(job_id), since_ms))

    def _target_ms(self, span: Span | datetime) -> int:
        if isinstance(span, datetime):
            return from_datetime(span)
        if isinstance(span, timedelta):
            return self._world.now_ms + round(span.total_seconds() * 1000)
        return self._world.now_ms + parse_duration(span, field="span")

    def _do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()


def _instant_ms(moment: str | datetime) -> int:
    return from_datetime(moment) if isinstance(moment, datetime) else parse_instant(moment, field="moment")
