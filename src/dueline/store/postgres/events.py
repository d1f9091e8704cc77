"""What listeners are told, on PostgreSQL. Statements that end runs tell of it themselves."""

from __future__ import annotations

from collections.abc import Collection

from dueline.domain.events import Told, told_of_change
from dueline.domain.ids import JobId, RunId
from dueline.domain.job import Job
from dueline.domain.run import Run
from dueline.domain.states import JobState
from dueline.store.events import ChangeRow, ChangeRows, EventBounds
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.reaching import Connection
from dueline.store.records import to_run

_SQL = queries("events")


class EventPart(Part):
    async def event_bounds(self) -> EventBounds:
        ((origin_ms, last),) = await self._database.fetch(_SQL["bounds"])
        writing = await self._database.fetch(_SQL["writing"])
        return EventBounds(origin_ms, last, frozenset(row[0] for row in writing))

    async def changes_from(self, seq: int, *, until: int, limit: int) -> ChangeRows:
        rows = await self._database.fetch(_SQL["rows"], seq, until, limit)
        swept: int = await self._database.fetchval(_SQL["swept"])
        return ChangeRows(
            swept,
            [
                ChangeRow(
                    number,
                    at_ms,
                    Told(told),
                    tuple(ids),
                    None if versions is None else tuple(versions),
                    None if state is None else JobState(state),
                )
                for number, at_ms, told, ids, versions, state in rows
            ],
        )

    async def ended_runs(self, tenant: str, run_ids: Collection[RunId], *, job_id: JobId | None) -> list[Run]:
        rows = await self._database.fetch(_SQL["ended"], tenant, list(run_ids), job_id)
        return [to_run(row, tuple(row[8])) for row in rows]

    async def job_names(self, tenant: str, job_ids: Collection[JobId]) -> dict[JobId, str]:
        rows = await self._database.fetch(_SQL["names"], tenant, list(job_ids))
        return {JobId(row[0]): row[1] for row in rows}

    async def forget_changes(self, *, kept_ms: int, limit: int) -> int:
        forgotten: int = await self._database.fetchval(_SQL["forget"], kept_ms, limit)
        return forgotten


async def tell_change(connection: Connection, before: Job, after: Job, *, deleted: bool) -> None:
    """Tell of a change of a job that people would notice, while the job is locked: so of two, the later has the higher number."""
    told = told_of_change(before, after, deleted=deleted)
    if told is not None:
        await connection.execute(_SQL["tell"], told, [after.id], [after.version], after.state)
