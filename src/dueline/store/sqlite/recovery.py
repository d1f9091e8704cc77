"""After an outage, on SQLite: what is overdue, and what was missed and waits."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.domain import limits
from dueline.domain.ids import JobId, RunId
from dueline.store.shapes import LapsedRun, MissedRun, OverduePlan
from dueline.store.sqlite.part import Part, pack, queries
from dueline.store.sqlite.session import Session

_SQL = queries("recovery")


class RecoveryPart(Part):
    async def overdue(self, *, tenant: str | None, before_ms: int, limit: int) -> list[OverduePlan]:
        return await self._database.page(_overdue, tenant, before_ms, limit)

    async def overdue_count(self, *, tenant: str | None, before_ms: int) -> int:
        return await self._database.page(_overdue_count, tenant, before_ms)

    async def missed_runs(self, *, tenant: str | None, job_id: JobId | None, limit: int) -> list[MissedRun]:
        return await self._database.page(_missed_runs, tenant, job_id, limit)

    async def lapsed_runs(self, *, limit: int) -> list[LapsedRun]:
        return await self._database.read(_lapsed_runs, limit)

    async def repace(self, due: Sequence[tuple[RunId, int]]) -> int:
        return await self._database.write(_repace, due)


def _overdue(session: Session, tenant: str | None, before_ms: int, limit: int) -> list[OverduePlan]:
    return [OverduePlan(*row) for row in session.rows(_SQL["overdue"], tenant, before_ms, limit)]


def _overdue_count(session: Session, tenant: str | None, before_ms: int) -> int:
    count: int = session.value(_SQL["overdue_count"], tenant, before_ms)
    return count


def _missed_runs(session: Session, tenant: str | None, job_id: JobId | None, limit: int) -> list[MissedRun]:
    args = (tenant, limits.MISFIRE_GRACE_MS, limit)
    if job_id is None:
        rows = session.rows(_SQL["missed"], *args)
    else:
        rows = session.rows(_SQL["missed_of_job"], *args, job_id)
    return [MissedRun(*row) for row in rows]


def _lapsed_runs(session: Session, limit: int) -> list[LapsedRun]:
    rows = session.rows(_SQL["lapsed"], limits.MISFIRE_GRACE_MS, limits.AHEAD_MS, limit)
    return [LapsedRun(*row) for row in rows]


def _repace(session: Session, due: Sequence[tuple[RunId, int]]) -> int:
    rows = session.rows(_SQL["repace"], pack([(run_id.hex(), due_ms) for run_id, due_ms in due]))
    if rows:
        session.wake("waiting")
    return len(rows)
