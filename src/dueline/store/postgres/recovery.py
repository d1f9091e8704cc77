"""What an outage left behind, on PostgreSQL: plans that are overdue, and runs that wait since they were missed."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.domain import limits
from dueline.domain.ids import JobId, RunId
from dueline.store.postgres.part import Part, queries
from dueline.store.shapes import LapsedRun, MissedRun, OverduePlan

_SQL = queries("recovery")


class RecoveryPart(Part):
    async def overdue(self, *, tenant: str | None, before_ms: int, limit: int) -> list[OverduePlan]:
        return [OverduePlan(*row) for row in await self._database.fetch(_SQL["overdue"], tenant, before_ms, limit)]

    async def overdue_count(self, *, tenant: str | None, before_ms: int) -> int:
        count: int = await self._database.fetchval(_SQL["overdue_count"], tenant, before_ms)
        return count

    async def missed_runs(self, *, tenant: str | None, job_id: JobId | None, limit: int) -> list[MissedRun]:
        args = (tenant, limits.MISFIRE_GRACE_MS, limit)
        if job_id is None:
            rows = await self._database.fetch(_SQL["missed"], *args)
        else:
            rows = await self._database.fetch(_SQL["missed_of_job"], *args, job_id)
        return [MissedRun(*row) for row in rows]

    async def lapsed_runs(self, *, limit: int) -> list[LapsedRun]:
        rows = await self._database.fetch(_SQL["lapsed"], limits.MISFIRE_GRACE_MS, limits.AHEAD_MS, limit)
        return [LapsedRun(*row) for row in rows]

    async def repace(self, due: Sequence[tuple[RunId, int]]) -> int:
        rows = await self._database.fetch(_SQL["repace"], [run_id for run_id, _ in due], [due_ms for _, due_ms in due])
        self._notices.announce("waiting")
        return len(rows)
