"""What comes: the next occurrences of one job, and all that come between two instants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.changes import Calendars
from dueline.domain.coming import Coming, Outset, Patience, coming
from dueline.domain.errors import Invalid, NotFound
from dueline.domain.ids import JobId, job_text
from dueline.domain.job import Definition
from dueline.domain.previews import fire_note
from dueline.domain.run import Run
from dueline.domain.states import TERMINAL, RunKind
from dueline.engine.calendars import load_calendars
from dueline.runtime.clock import StoreTime
from dueline.store.calendars import CalendarStore
from dueline.store.protocol import JobStore, PlanStore, ReadStore
from dueline.store.records import target_type
from dueline.store.shapes import JobFilter, RunFilter

_VERSIONS_READ = 1_000


class UpcomingStore(JobStore, PlanStore, ReadStore, CalendarStore, Protocol):
    """What is needed of the store to tell what comes."""


class Page(msgspec.Struct, frozen=True):
    """Some of what comes, in its order, and whether there may be more behind it."""

    items: list[Coming]
    more: bool


class Upcoming:
    """Reads, for one tenant a call. What was skipped, moved or excluded counts as that, and what is due by now does not come any more."""

    def __init__(self, store: UpcomingStore, time: Callable[[], StoreTime]) -> None:
        self._store = store
        self._time = time

    async def of_job(self, tenant: str, job_id: JobId, *, from_ms: int, limit: int) -> Page:
        """The next occurrences of one job; of one that is paused, those that would come if it were resumed now."""
        job = await self._store.job(tenant, job_id)
        if job is None:
            raise NotFound("job", job_text(job_id))
        now_ms = self._time().now_ms()
        match = RunFilter(tenant=tenant, job_id=job_id, kind=RunKind.SCHEDULED, from_ms=max(now_ms + 1, from_ms))
        written = await self._written(match)
        outsets = []
        if job.position.next_ms is not None:
            outsets.append(Outset(job_id, job.definition, job.position.next_ms, job.position.runs_left))
        calendars = await load_calendars(self._store, tenant, [job.definition])
        found = _told(outsets, written, calendars, from_ms=from_ms, now_ms=now_ms, after=None)
        items = await asyncio.to_thread(lambda: list(islice(found, limit + 1)))
        return Page(items[:limit], len(items) > limit)

    async def between(
        self, match: JobFilter, *, from_ms: int, to_ms: int, after: tuple[int, JobId] | None, limit: int
    ) -> Page:
        """What comes from one instant to before another, behind a place, of all jobs that match and are active.

        The jobs are looked at in the order in which they come next, and no further than the page needs. Raises Invalid where more of them
        than can be looked at come before it.
        """
        now_ms = self._time().now_ms()
        from_ms = max(from_ms, now_ms + 1, 0 if after is None else after[0])
        # Written ahead of their time: their plans have moved on.
        ahead = RunFilter(tenant=match.tenant, kind=RunKind.SCHEDULED, from_ms=from_ms, to_ms=to_ms)
        written = [one for one in await self._written(ahead) if _fits(one.definition, match)]
        items: list[Coming] = []
        for most in (limits.UPCOMING_JOBS_FIRST, limits.UPCOMING_JOBS_MAX):
            plans = await self._store.overdue(tenant=match.tenant, before_ms=to_ms, limit=most)
            # Those that were left out come at the time of the last one or later.
            edge_ms = to_ms if len(plans) < most else plans[-1].due_ms
            definitions = await self._definitions((plan.job_id, plan.version) for plan in plans)
            outsets = [
                Outset(plan.job_id, definition, plan.next_ms, plan.runs_left)
                for plan in plans
                if (definition := definitions.get((plan.job_id, plan.version))) is not None and _fits(definition, match)
            ]
            calendars = await load_calendars(self._store, match.tenant, [one.definition for one in outsets])
            found = _told(outsets, written, calendars, from_ms=from_ms, now_ms=now_ms, after=after)
            items = await asyncio.to_thread(_taken, found, edge_ms, limit + 1)
            if len(items) > limit or edge_ms >= to_ms:
                return Page(items[:limit], len(items) > limit)
        if not items:
            most = limits.UPCOMING_JOBS_MAX
            raise Invalid(("from", f"more than {most} jobs come before it: take one nearer to now, or ask job by job"))
        return Page(items, more=True)

    async def _written(self, match: RunFilter) -> list[Coming]:
        """Runs that were written ahead of their time, in their order."""
        found: list[Run] = []
        while True:
            before = found[-1].id if found else None
            page = await self._store.runs_page(match, before=before, limit=limits.PAGE_ROWS_MAX)
            found += page
            if len(page) < limits.PAGE_ROWS_MAX:
                break
            if len(found) > limits.UPCOMING_JOBS_MAX:
                raise Invalid(
                    ("to", f"more than {limits.UPCOMING_JOBS_MAX} runs come within seconds: take one nearer to now")
                )
        live = [run for run in reversed(found) if run.state not in TERMINAL]
        definitions = await self._definitions((run.job_id, run.version) for run in live if run.job_id and run.version)
        return [
            Coming(
                job_id=run.job_id,
                definition=definitions[run.job_id, run.version],
                scheduled_ms=run.scheduled_ms,
                due_ms=run.due_ms,
                note=_note(definitions[run.job_id, run.version], run.scheduled_ms),
                run_id=run.id,
            )
            for run in live
            if run.job_id is not None and run.version is not None and (run.job_id, run.version) in definitions
        ]

    async def _definitions(self, keys: Iterable[tuple[JobId, int]]) -> dict[tuple[JobId, int], Definition]:
        wanted = list(dict.fromkeys(keys))
        found: dict[tuple[JobId, int], Definition] = {}
        for first in range(0, len(wanted), _VERSIONS_READ):
            for version in await self._store.job_versions(wanted[first : first + _VERSIONS_READ]):
                found[version.job_id, version.version] = version.definition
        return found


def _told(
    outsets: Sequence[Outset],
    written: Sequence[Coming],
    calendars: Calendars,
    *,
    from_ms: int,
    now_ms: int,
    after: tuple[int, JobId] | None,
) -> Iterable[Coming]:
    """What comes of all of them, behind a place, each occurrence once."""
    patience = Patience(limits.OCCURRENCES_SEARCHED_MAX)
    planned = [coming(one, calendars, from_ms=from_ms, now_ms=now_ms, patience=patience) for one in outsets]
    in_order = sorted(written, key=attrgetter("place"))
    last = after
    for one in merge(in_order, *planned, key=attrgetter("place")):
        if last is None or one.place > last:
            last = one.place
            yield one


def _taken(found: Iterable[Coming], before_ms: int, most: int) -> list[Coming]:
    taken: list[Coming] = []
    for one in found:
        if one.scheduled_ms >= before_ms or len(taken) == most:
            break
        taken.append(one)
    return taken


def _fits(definition: Definition, match: JobFilter) -> bool:
    return (
        match.queue in (None, definition.queue)
        and (match.tag is None or match.tag in definition.tags)
        and match.target_type in (None, target_type(definition))
    )


def _note(definition: Definition, at_ms: int) -> str | None:
    return None if definition.schedule is None else fire_note(definition.schedule, at_ms, None)
