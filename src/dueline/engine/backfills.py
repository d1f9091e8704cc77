"""Runs for occurrences of the past that somebody asks for: shown first, capped, paced, behind everything that is on time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from dueline.domain import limits
from dueline.domain.changes import check_open, check_version, compiled
from dueline.domain.errors import Conflict, Invalid, NotFound
from dueline.domain.firing import make_run
from dueline.domain.ids import JobId, RunId, job_text
from dueline.domain.job import Job, JobVersion
from dueline.domain.overlap import Overlap
from dueline.domain.recovery import Pace
from dueline.domain.run import Run
from dueline.domain.schedule import After
from dueline.domain.states import RunKind
from dueline.engine.calendars import load_calendars
from dueline.engine.quotas import QuotaKeeper
from dueline.runtime.clock import StoreTime
from dueline.store.calendars import CalendarStore
from dueline.store.protocol import JobStore, ReadStore, RunStore
from dueline.store.shapes import RunFilter


class BackfillStore(JobStore, RunStore, CalendarStore, ReadStore, Protocol):
    """What backfills need of the store."""


class BackfillAsked(msgspec.Struct, frozen=True, kw_only=True):
    """The occurrences of a job from one instant to before another, at most `cap` of them, so many a second."""

    from_ms: int
    to_ms: int
    cap: int = limits.BACKFILL_RUNS_DEFAULT
    rate: float = 1.0
    overlap: Overlap = Overlap.QUEUE_ALL
    dry_run: bool = False


class BackfillRun(msgspec.Struct, frozen=True):
    """One run of a backfill. One that was asked for before is not written again."""

    run_id: RunId
    scheduled_ms: int
    due_ms: int
    is_new: bool


class Backfills:
    def __init__(self, store: BackfillStore, time: Callable[[], StoreTime], quotas: QuotaKeeper) -> None:
        self._store = store
        self._time = time
        self._quotas = quotas

    async def backfill(
        self, tenant: str, job_id: JobId, asked: BackfillAsked, *, expected_version: int | None = None
    ) -> list[BackfillRun]:
        """Write the runs, or with `dry_run` only tell them. The same range asked for twice is written once. More than the tenant's quota
        for one backfill are OverQuota."""
        job = await self._store.job(tenant, job_id)
        if job is None:
            raise NotFound("job", job_text(job_id))
        check_version(job, expected_version)
        check_open(job.state)
        now_ms = self._time().now_ms()
        occurrences = await self._occurrences(job, asked, now_ms=now_ms)
        (await self._quotas.of(tenant)).check_backfill(len(occurrences))
        version, pace = JobVersion(job.id, job.version, tenant, job.definition), Pace(asked.rate)
        runs = [
            make_run(
                version,
                at_ms,
                due_ms=pace.next_ms(now_ms),
                token=0,
                missed=True,
                kind=RunKind.BACKFILL,
                overlap=asked.overlap,
            )
            for at_ms in occurrences
        ]
        if asked.dry_run:
            new = {run.id for run in runs} - await self._written(job, asked)
        else:
            new = await self._store.enqueue(runs, open_job=job.id)
        return [BackfillRun(run.id, run.scheduled_ms, run.due_ms, run.id in new) for run in runs]

    async def _written(self, job: Job, asked: BackfillAsked) -> set[RunId]:
        """Runs of this range that an earlier backfill has written."""
        match = RunFilter(
            tenant=job.tenant, job_id=job.id, kind=RunKind.BACKFILL, from_ms=asked.from_ms, to_ms=asked.to_ms
        )
        found: list[Run] = []
        while True:
            before = found[-1].id if found else None
            page = await self._store.runs_page(match, before=before, limit=limits.PAGE_ROWS_MAX)
            found += page
            if len(page) < limits.PAGE_ROWS_MAX:
                return {run.id for run in found}

    async def _occurrences(self, job: Job, asked: BackfillAsked, *, now_ms: int) -> list[int]:
        schedule = job.definition.schedule
        if schedule is None or isinstance(schedule, After):
            raise Conflict("the job has no schedule that says when it should have run")
        if asked.to_ms > now_ms + limits.BACKFILL_AHEAD_MS_MAX:
            raise Invalid(("to", "lies in the future: a backfill is for what is past"))
        if asked.to_ms <= asked.from_ms:
            raise Invalid(("to", "must come after from"))
        times = compiled(schedule, await load_calendars(self._store, job.tenant, [job.definition]))
        found: list[int] = []
        end_ms = min(asked.to_ms, now_ms)
        at_ms = times.next_fire_after(asked.from_ms - 1)
        while at_ms is not None and at_ms < end_ms:
            if len(found) == asked.cap:
                raise Invalid(("cap", f"there are more than {asked.cap} occurrences: raise it, or narrow from and to"))
            found.append(at_ms)
            at_ms = times.next_fire_after(at_ms)
        return found
