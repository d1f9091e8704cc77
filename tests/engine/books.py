"""A cluster driven by hand, with everything that tells and decides about time on the same store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from dueline.domain.ids import job_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget, Job
from dueline.domain.ledger import Occurrence
from dueline.domain.overlap import Overlap
from dueline.domain.run import Run
from dueline.domain.schedule import Schedule
from dueline.domain.single_changes import ChangeKind, OccurrenceChange
from dueline.engine.audits import Auditor, JobAudit
from dueline.engine.backfills import Backfills
from dueline.engine.calendars import CalendarDesk
from dueline.engine.forecasts import Forecasts
from dueline.engine.ledgers import Ledgers
from dueline.engine.recoveries import Recoveries
from dueline.runtime.clock import StoreTime
from tests.support.cluster import Cluster
from tests.support.stores import START_MS, StoreUnderTest, the_job
from tests.support.target import Target

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
MINUTE_S, HOUR_S, DAY_S = 60, 3_600, 86_400


class Books(Cluster):
    """Jobs, and what is told of them."""

    def __init__(self, under_test: StoreUnderTest, target: Target) -> None:
        super().__init__(under_test)
        self.under_test = under_test
        self.target = target
        time = StoreTime(self.clock)

        def now() -> StoreTime:
            return self._synchronised(time)

        self.ledgers = Ledgers(self.store, now)
        self.auditor = Auditor(self.store, self.ledgers)
        self.backfills = Backfills(self.store, now, self.quotas)
        self.recoveries = Recoveries(self.store, now)
        self.forecasts = Forecasts(self.store, now)
        self.calendars = CalendarDesk(self.store)

    @property
    def now_ms(self) -> int:
        return self.store_clock.now_ms

    async def job(self, schedule: Schedule | None, *, path: str = "/ok", **fields: Any) -> Job:
        """A job; runs of it may overlap unless something else is asked for. `execution` takes fields of how it is carried out."""
        execution = Execution(target=HttpTarget(url=self.target.url + path), **fields.pop("execution", {}))

        asked: dict[str, Any] = {"overlap": Overlap.ALLOW, "execution": execution, "schedule": schedule} | fields

        def define(job_id: bytes, _now_ms: int) -> Definition:
            return Definition(**({"name": job_text(job_id)} | asked))

        return await self.operations.create_job(DEFAULT_TENANT, define)

    async def edit(self, job: Job, **fields: Any) -> Job:
        return await self.operations.edit_job(
            DEFAULT_TENANT,
            job.id,
            lambda found, _: msgspec.structs.replace(found.definition, **fields),
            expected_version=None,
        )

    async def pause(self, job: Job) -> Job:
        return await self.operations.pause_job(DEFAULT_TENANT, job.id, note=None)

    async def resume(self, job: Job) -> Job:
        return await self.operations.resume_job(DEFAULT_TENANT, job.id)

    async def change_one(self, job: Job, at_ms: int, kind: ChangeKind, to_ms: int | None = None) -> Job:
        change = OccurrenceChange(kind, to_ms)
        return await self.operations.change_occurrence(DEFAULT_TENANT, job.id, at_ms, change)

    async def leap(self, seconds: float) -> None:
        """Time in which nobody does anything."""
        await self.store_clock.advance(seconds)

    async def settle(self, ticks: int = 8) -> None:
        """Let a node that just came take the shards and do what is to be done at once."""
        for _ in range(ticks):
            for node in self.nodes:
                if node.alive:
                    await node.tick()

    async def now_of(self, job: Job) -> Job:
        return await the_job(self.store, job.id)

    async def runs_of(self, job: Job) -> list[Run]:
        """Its runs, by when they were scheduled."""
        return sorted((run for run in await self.runs() if run.job_id == job.id), key=lambda run: run.id)

    async def account(self, job: Job, *, from_ms: int = 0) -> JobAudit:
        return await self.auditor.audit(DEFAULT_TENANT, job.id, from_ms=from_ms, to_ms=self.now_ms)

    async def sound_account(self, job: Job) -> JobAudit:
        """Its account, of which nothing is missing and nothing double."""
        account = await self.account(job)
        assert (account.missed, account.doubled) == (0, 0), account
        assert account.expected == account.verdicts.total() + account.missed
        return account

    async def told(
        self, job: Job, *, from_ms: int = START_MS, to_ms: int | None = None, limit: int = 10_000
    ) -> list[Occurrence]:
        """Its occurrences; up to now unless told otherwise."""
        to_ms = self.now_ms if to_ms is None else to_ms
        return await self.ledgers.occurrences(DEFAULT_TENANT, job.id, from_ms=from_ms, to_ms=to_ms, limit=limit)

    async def pages(self, job: Job, *, from_ms: int, to_ms: int, limit: int) -> list[Occurrence]:
        """The same, read in pages of a size, each from behind the last one's end."""
        found: list[Occurrence] = []
        while True:
            page = await self.told(job, from_ms=from_ms, to_ms=to_ms, limit=limit)
            found += page
            if len(page) < limit:
                return found
            from_ms = page[-1].scheduled_ms + 1


def verdicts(occurrences: list[Occurrence]) -> Iterator[tuple[int, str, str | None]]:
    """Minute since the start, verdict and reason of each."""
    for one in occurrences:
        yield (one.scheduled_ms - START_MS) // MINUTE_MS, one.verdict.value, one.reason


def minutes(runs: list[Run]) -> list[int]:
    """The minutes since the start for which runs were scheduled."""
    return [(run.scheduled_ms - START_MS) // MINUTE_MS for run in runs]
