"""What changed, for those who listen: read from the store's record page by page, by everyone at a pace of its own.

Nothing is kept here for anybody. A listener says how far it was told, and is told what follows; a slow one is told later, and one that
is slower than the record is kept long is told that it missed something.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import NamedTuple

from dueline.domain import limits
from dueline.domain.events import Event, EventFilter, EventMark, EventType, Horizon, JobTold, Told, end_type, job_type
from dueline.domain.ids import JobId, RunId
from dueline.domain.run import Run
from dueline.domain.states import JobState
from dueline.engine.looks import Look
from dueline.runtime.clock import Clock, StoreTime
from dueline.store.events import ChangeRow, EventBounds
from dueline.store.protocol import Store

_LOST = 0
"""A number before all others: whoever was told that far has missed something."""
_STATES = {
    Told.CREATED: JobState.ACTIVE,
    Told.PAUSED: JobState.PAUSED,
    Told.RESUMED: JobState.ACTIVE,
    Told.FINISHED: JobState.FINISHED,
    Told.CANCELLED: JobState.CANCELLED,
}
_FIRST_VERSION = 1


class EventPage(NamedTuple):
    events: list[Event]
    mark: EventMark
    """How far whoever gets them was told."""


class _Entry(NamedTuple):
    """One thing that a row tells of."""

    row: ChangeRow
    nth: int

    @property
    def id(self) -> bytes:
        return self.row.ids[self.nth]

    def behind(self, origin_ms: int) -> EventMark:
        """How far somebody is who was told this."""
        is_last = self.nth + 1 == len(self.row.ids)
        return EventMark(origin_ms, self.row.seq + 1) if is_last else EventMark(origin_ms, self.row.seq, self.nth + 1)


class Events:
    def __init__(self, store: Store, time: Callable[[], StoreTime], clock: Clock) -> None:
        self._store = store
        self._time = time
        self.clock = clock
        self._horizon = Horizon()
        self._bounds = Look(self._look, clock, fresh_s=limits.EVENTS_POLL_S / 2)
        self._closing = asyncio.Event()
        self.readers = 0
        """How many listen."""

    @property
    def closed(self) -> bool:
        return self._closing.is_set()

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._closing.set()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While somebody listens."""
        self.readers += 1
        try:
            yield
        finally:
            self.readers -= 1

    async def now(self) -> EventMark:
        """From here on. Everything that is committed after this returns is behind the mark, and hardly anything else."""
        self._bounds.forget()
        bounds = await self._bounds.take()
        mark = EventMark(bounds.origin_ms, bounds.last + 1)
        await self.news(EventMark(bounds.origin_ms, bounds.last), wait_s=limits.EVENT_STALL_S)
        return mark if self._horizon.seq >= bounds.last else EventMark(bounds.origin_ms, self._horizon.seq + 1)

    async def known(self, mark: EventMark) -> EventMark:
        """The mark, if it is of this record; otherwise one behind which something is missing."""
        self._bounds.forget()
        bounds = await self._bounds.take()
        is_ours = mark.origin_ms == bounds.origin_ms and mark.seq <= bounds.last + 1
        return mark if is_ours else EventMark(bounds.origin_ms, _LOST)

    async def page(self, match: EventFilter, mark: EventMark, *, limit: int = limits.EVENTS_PAGE) -> EventPage:
        """What there was to tell behind a mark at the last look, in order. It may be nothing, and yet the mark move on."""
        until = self._horizon.seq
        found = await self._store.changes_from(mark.seq, until=until, limit=limits.EVENT_ROWS_MAX)
        if mark.seq <= found.swept:
            mark = EventMark(mark.origin_ms, found.swept + 1)
            return EventPage([self._reset(mark)], mark)
        entries = islice(_entries(found.rows, mark), limits.EVENTS_LOOKED_MAX)
        events: list[Event] = []
        looked = 0
        while some := list(islice(entries, limits.EVENTS_PAGE)):
            looked += len(some)
            for entry, event in zip(some, await self._events(match, some, mark.origin_ms), strict=True):
                mark = entry.behind(mark.origin_ms)
                if event is not None:
                    events.append(event)
                if len(events) == limit:
                    return EventPage(events, mark)
        if len(found.rows) < limits.EVENT_ROWS_MAX and looked < limits.EVENTS_LOOKED_MAX and mark.seq <= until:
            mark = EventMark(mark.origin_ms, until + 1)
        return EventPage(events, mark)

    async def news(self, mark: EventMark, *, wait_s: float) -> bool:
        """Whether there is something behind a mark, waiting a while for it."""
        until_s = self.clock.monotonic_s() + wait_s
        while True:
            await self._bounds.take()
            if self._horizon.seq >= mark.seq:
                return True
            left_s = until_s - self.clock.monotonic_s()
            if left_s <= 0 or self.closed:
                return False
            await self.pause(min(left_s, limits.EVENTS_POLL_S))

    async def pause(self, for_s: float) -> None:
        """Let time pass, unless all are to go."""
        with suppress(TimeoutError):
            async with asyncio.timeout(for_s):
                await self._closing.wait()

    async def _look(self) -> EventBounds:
        """One at a time, as the horizon wants it."""
        bounds = await self._store.event_bounds()
        self._horizon.saw(bounds.last, bounds.writing)
        return bounds

    async def _events(self, match: EventFilter, entries: Sequence[_Entry], origin_ms: int) -> list[Event | None]:
        """What each of them is to whoever asks; None where it is nothing."""
        runs = await self._runs(match, [RunId(entry.id) for entry in entries if entry.row.told is Told.ENDED])
        names = await self._names(match, [JobId(entry.id) for entry in entries if entry.row.told is not Told.ENDED])
        events: list[Event | None] = []
        for entry in entries:
            mark = entry.behind(origin_ms)
            event = _ended(entry, mark, runs) if entry.row.told is Told.ENDED else _changed(entry, mark, names)
            events.append(event if event is not None and match.wants(event) else None)
        return events

    async def _runs(self, match: EventFilter, run_ids: list[RunId]) -> dict[RunId, Run]:
        if match.run_id is not None:
            run_ids = [match.run_id] if match.run_id in run_ids else []
        if not run_ids:
            return {}
        found = await self._store.ended_runs(match.tenant, run_ids, job_id=match.job_id)
        return {run.id: run for run in found}

    async def _names(self, match: EventFilter, job_ids: list[JobId]) -> dict[JobId, str]:
        if match.run_id is not None:
            return {}
        if match.job_id is not None:
            job_ids = [match.job_id] if match.job_id in job_ids else []
        return await self._store.job_names(match.tenant, job_ids) if job_ids else {}

    def _reset(self, mark: EventMark) -> Event:
        return Event(id=mark.text, type=EventType.RESET, at_ms=self._time().now_ms())


def _entries(rows: Sequence[ChangeRow], mark: EventMark) -> Iterator[_Entry]:
    for row in rows:
        for nth in range(mark.told if row.seq == mark.seq else 0, len(row.ids)):
            yield _Entry(row, nth)


def _ended(entry: _Entry, mark: EventMark, runs: dict[RunId, Run]) -> Event | None:
    run = runs.get(RunId(entry.id))
    if run is None:
        return None
    return Event(id=mark.text, type=end_type(run.state), at_ms=entry.row.at_ms, run=run)


def _changed(entry: _Entry, mark: EventMark, names: dict[JobId, str]) -> Event | None:
    row, job_id = entry.row, JobId(entry.id)
    if job_id not in names:
        return None
    state = _STATES.get(row.told) if row.state is None else row.state
    assert state is not None, "where what is told does not say the state, the row does"
    version = _FIRST_VERSION if row.versions is None else row.versions[entry.nth]
    job = JobTold(job_id, names[job_id], state, version)
    return Event(id=mark.text, type=job_type(row.told), at_ms=row.at_ms, job=job)
