"""What became of a job's occurrences, and what comes: the past with its verdicts and the future in one list."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Protocol

from dueline.domain import limits
from dueline.domain.changes import Calendars, compiled
from dueline.domain.errors import NotFound
from dueline.domain.firetimes import FireTimes
from dueline.domain.ids import JobId, job_text
from dueline.domain.job import Definition, Job
from dueline.domain.ledger import Occurrence, Verdict, judge
from dueline.domain.states import HeldReason, JobState
from dueline.engine.calendars import load_calendars
from dueline.runtime.clock import StoreTime
from dueline.store.calendars import CalendarStore
from dueline.store.protocol import JobStore, LedgerStore
from dueline.store.shapes import LedgerRow, VersionInForce


class LedgersStore(JobStore, LedgerStore, CalendarStore, Protocol):
    """What the ledgers need of the store."""


class Book:
    """One job with all its versions, to look its occurrences up in."""

    def __init__(self, job: Job, versions: list[VersionInForce], calendars: Calendars, now_ms: int) -> None:
        self.job = job
        self.versions = versions
        self.now_ms = now_ms
        self._calendars = calendars
        self._definitions = {version.version: version.definition for version in versions}
        self._times: dict[int, FireTimes | None] = {}

    def definition(self, version: int | None) -> Definition:
        return self.job.definition if version is None else self._definitions.get(version, self.job.definition)

    def jitter_ms(self, version: int | None) -> int:
        schedule = self.definition(version).schedule
        return 0 if schedule is None else schedule.jitter_ms

    def times(self, version: int) -> FireTimes | None:
        """The instants of a version; None: it had no schedule. Calendars count as they are now."""
        if version not in self._times:
            schedule = self.definition(version).schedule
            self._times[version] = None if schedule is None else compiled(schedule, self._calendars)
        return self._times[version]

    def expand(self, row: LedgerRow, *, from_ms: int, to_ms: int) -> Iterator[Occurrence]:
        """The occurrences of a stretch that became no runs."""
        times, told = self.times(row.version), row.unfired
        if times is None:
            return
        at_ms: int | None = told.from_ms if told.from_ms >= from_ms else times.next_after(from_ms - 1)
        while at_ms is not None and at_ms <= min(told.to_ms, to_ms):
            yield Occurrence(scheduled_ms=at_ms, verdict=told.verdict, reason=told.reason, version=row.version)
            at_ms = times.next_after(at_ms)

    def undecided(self, *, from_ms: int) -> Iterator[Occurrence]:
        """The occurrences nobody has decided about: those that are due wait, the others are expected."""
        job, position = self.job, self.job.position
        times = self.times(job.version)
        if times is None or position.next_ms is None:
            return
        at_ms: int | None = position.next_ms
        runs_left = position.runs_left
        if position.next_ms < from_ms and not times.follows and runs_left is None:
            at_ms = times.next_after(from_ms - 1)
        while at_ms is not None and (times.end_ms is None or at_ms <= times.end_ms):
            reason = times.skip_reason(at_ms)
            due = at_ms <= self.now_ms
            if reason is not None:
                yield Occurrence(scheduled_ms=at_ms, verdict=Verdict.SKIPPED, reason=reason, version=job.version)
            elif due:
                # How many of those that are due run is up to the misfire policy.
                held = HeldReason.PAUSED if job.state is JobState.PAUSED else None
                yield Occurrence(scheduled_ms=at_ms, verdict=Verdict.WAITING, reason=held, version=job.version)
            elif runs_left == 0:
                return
            else:
                yield Occurrence(scheduled_ms=at_ms, verdict=Verdict.EXPECTED, version=job.version)
                runs_left = None if runs_left is None else runs_left - 1
            at_ms = None if times.follows else times.next_after(at_ms)


class Ledgers:
    """Reads, for one tenant a call."""

    def __init__(self, store: LedgersStore, time: Callable[[], StoreTime]) -> None:
        self._store = store
        self._time = time

    async def open(self, tenant: str, job_id: JobId) -> Book:
        job = await self._store.job(tenant, job_id)
        if job is None:
            raise NotFound("job", job_text(job_id))
        versions = await self._store.versions_of(job_id)
        named = await load_calendars(self._store, tenant, [version.definition for version in versions])
        return Book(job, versions, named, self._time().now_ms())

    async def occurrences(
        self, tenant: str, job_id: JobId, *, from_ms: int, to_ms: int, limit: int
    ) -> list[Occurrence]:
        """The occurrences between two instants, inclusive, earliest first, at most `limit` of them."""
        book = await self.open(tenant, job_id)
        return await self.read(book, from_ms=from_ms, to_ms=to_ms, limit=limit)

    async def read(self, book: Book, *, from_ms: int, to_ms: int, limit: int) -> list[Occurrence]:
        runs = await self._store.occurrence_runs(book.job.id, from_ms=from_ms, to_ms=to_ms, limit=limit)
        # One more: the first stretch may touch the span without an occurrence in it.
        rows = await self._store.unfired(book.job.id, from_ms=from_ms, to_ms=to_ms, limit=limit + 1)
        # A page that is full says nothing of what lies behind it.
        if len(runs) == limit:
            to_ms = min(to_ms, runs[-1].scheduled_ms)
        if len(rows) > limit:
            to_ms = min(to_ms, rows[-1].unfired.from_ms)
        ran = frozenset(run.scheduled_ms for run in runs)
        judged = (judge(run, jitter_ms=book.jitter_ms(run.version), now_ms=book.now_ms) for run in runs)
        told = (
            one for row in rows for one in book.expand(row, from_ms=from_ms, to_ms=to_ms) if one.scheduled_ms not in ran
        )
        coming = (one for one in book.undecided(from_ms=from_ms) if one.scheduled_ms not in ran)
        found: list[Occurrence] = []
        for one in islice(merge(judged, told, coming, key=attrgetter("scheduled_ms")), limits.OCCURRENCES_SEARCHED_MAX):
            if one.scheduled_ms > to_ms or len(found) == limit:
                break
            if one.scheduled_ms >= from_ms:
                found.append(one)
        return found
