"""Compares what a job's schedule asked for with what the ledger says became of it: nothing may be missing, nothing twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from itertools import islice

import msgspec

from dueline.domain import limits
from dueline.domain.ids import JobId
from dueline.domain.ledger import Occurrence, Verdict, judge, started_ms
from dueline.domain.schedule import After, At
from dueline.engine.ledgers import Book, Ledgers, LedgersStore
from dueline.store.shapes import VersionInForce

_PAGE = 1_000
_SHOWN = 100
"""Instants of each kind that a report names; all of them are counted."""


class LateStart(msgspec.Struct, frozen=True):
    scheduled_ms: int
    started_ms: int


class JobAudit(msgspec.Struct, kw_only=True):
    """A job's account over a period. `expected` is what the schedule asked for; each of them has one verdict, or it is missed."""

    job_id: JobId
    name: str
    from_ms: int
    """Later than asked where the history does not reach back so far."""
    to_ms: int
    """Earlier than asked where there were more occurrences than are looked at in one go."""
    expected: int = 0
    verdicts: Counter[str] = msgspec.field(default_factory=Counter)
    reasons: Counter[str] = msgspec.field(default_factory=Counter)
    missed: int = 0
    doubled: int = 0
    late: int = 0
    missed_ms: list[int] = []
    doubled_ms: list[int] = []
    late_starts: list[LateStart] = []


class Auditor:
    def __init__(self, store: LedgersStore, ledgers: Ledgers) -> None:
        self._store = store
        self._ledgers = ledgers

    async def audit(self, tenant: str, job_id: JobId, *, from_ms: int, to_ms: int) -> JobAudit:
        """The account of one job between two instants, inclusive; what lies in the future is not asked for."""
        book = await self._ledgers.open(tenant, job_id)
        to_ms = min(to_ms, book.now_ms)
        # What was forgotten was not missed.
        from_ms = max(from_ms, await self._store.history_since(tenant, job_id))
        expected = list(islice(_expected(book, from_ms=from_ms, to_ms=to_ms), limits.OCCURRENCES_SEARCHED_MAX))
        if len(expected) == limits.OCCURRENCES_SEARCHED_MAX:
            to_ms = expected[-1][0]
        report = JobAudit(job_id=job_id, name=book.job.definition.name, from_ms=from_ms, to_ms=to_ms)
        decided = await self._decided(book, report)
        # What has a verdict was asked for, also where only the end of the run before it said so.
        report.expected = len(decided)
        for at_ms in _unanswered(book, expected, decided):
            report.expected += 1
            report.missed += 1
            if len(report.missed_ms) < _SHOWN:
                report.missed_ms.append(at_ms)
        return report

    async def _decided(self, book: Book, report: JobAudit) -> dict[int, int | None]:
        """Every instant with a verdict, and the version that it is of, counted; one that has two is told."""
        decided: dict[int, int | None] = {}
        async for one in self._verdicts(book, report):
            if one.scheduled_ms in decided:
                report.doubled += 1
                if len(report.doubled_ms) < _SHOWN:
                    report.doubled_ms.append(one.scheduled_ms)
                continue
            decided[one.scheduled_ms] = one.version
            report.verdicts[one.verdict] += 1
            if one.reason is not None:
                report.reasons[one.reason] += 1
            if one.verdict is Verdict.LATE and one.run is not None:
                report.late += 1
                if len(report.late_starts) < _SHOWN:
                    report.late_starts.append(LateStart(one.scheduled_ms, started_ms(one.run) or 0))
        return decided

    async def _verdicts(self, book: Book, report: JobAudit) -> AsyncIterator[Occurrence]:
        from_ms, to_ms, job_id = report.from_ms, report.to_ms, book.job.id
        while True:
            runs = await self._store.occurrence_runs(job_id, from_ms=from_ms, to_ms=to_ms, limit=_PAGE)
            for run in runs:
                yield judge(run, jitter_ms=book.jitter_ms(run.version), now_ms=book.now_ms)
            if len(runs) < _PAGE:
                break
            from_ms = runs[-1].scheduled_ms + 1
        from_ms = report.from_ms
        while True:
            rows = await self._store.unfired(job_id, from_ms=from_ms, to_ms=to_ms, limit=_PAGE)
            for row in rows:
                for one in book.expand(row, from_ms=from_ms, to_ms=to_ms):
                    yield one
            if len(rows) < _PAGE:
                break
            from_ms = rows[-1].unfired.to_ms + 1
        for one in book.undecided(from_ms=report.from_ms):
            if one.scheduled_ms > to_ms:
                break
            yield one


def _expected(book: Book, *, from_ms: int, to_ms: int) -> Iterator[tuple[int, VersionInForce]]:
    """What the versions of the job asked for, each while it was in force: what comes after it was written, up to its replacement."""
    ends: list[VersionInForce | None] = [*book.versions[1:], None]
    before: VersionInForce | None = None
    for version, replaced in zip(book.versions, ends, strict=True):
        until_ms = to_ms if replaced is None else min(to_ms, replaced.since_ms)
        times = book.times(version.version)
        schedule = version.definition.schedule
        if times is not None and not isinstance(schedule, After):
            since_ms = version.since_ms
            if isinstance(schedule, At) and (before is None or before.definition.schedule != schedule):
                since_ms = min(since_ms, schedule.at_ms - 1)
            at_ms = times.next_after(max(since_ms, from_ms - 1))
            while at_ms is not None and at_ms <= until_ms:
                yield at_ms, version
                at_ms = times.next_after(at_ms)
        before = version


def _unanswered(
    book: Book, expected: list[tuple[int, VersionInForce]], decided: dict[int, int | None]
) -> Iterator[int]:
    """Expected instants without a verdict. A version with a limit of runs that is through asks for nothing after its last one."""
    last_ms: dict[int | None, int] = {}
    for at_ms, of_version in decided.items():
        last_ms[of_version] = max(at_ms, last_ms.get(of_version, 0))
    for at_ms, version in expected:
        schedule = version.definition.schedule
        limited = schedule is not None and schedule.max_runs is not None
        going_on = version.version == book.job.version and book.job.position.next_ms is not None
        if at_ms not in decided and (not limited or going_on or at_ms <= last_ms.get(version.version, 0)):
            yield at_ms
