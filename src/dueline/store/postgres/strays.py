"""Runs that lost their owner, or their turn, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.domain import limits
from dueline.domain.ids import RunId
from dueline.domain.states import TERMINAL, RunState
from dueline.store.postgres.following import follow_and_leave, lock_awaiting
from dueline.store.postgres.gates import leave_gates
from dueline.store.postgres.part import Part, in_order, queries
from dueline.store.records import encode_attempt
from dueline.store.shapes import Chores, Reclaim, Stray

_SQL = queries("runs")


class StrayPart(Part):
    async def free_held(self, *, limit: int) -> int:
        await self._database.fetch(_SQL["sweep_places"])
        rows = await self._database.fetch(_SQL["free_held"], limit)
        self._notices.announce(*{f"ready/{row[0]}" for row in rows})
        return len(rows)

    async def chores(self) -> Chores:
        (row,) = await self._database.fetch(_SQL["chores"])
        return Chores(*row)

    async def strays(self, *, grace_ms: int, limit: int) -> list[Stray]:
        return [Stray(*row) for row in await self._database.fetch(_SQL["strays"], grace_ms, limit)]

    async def reclaim(self, reclaims: Sequence[Reclaim]) -> set[RunId]:
        reclaims = sorted(reclaims, key=in_order)
        args = (
            [taken.run_id for taken in reclaims],
            [taken.token for taken in reclaims],
            [taken.state for taken in reclaims],
            [int(taken.lost) for taken in reclaims],
            [taken.due_ms for taken in reclaims],
            [taken.reason for taken in reclaims],
            [encode_attempt(taken.attempt) for taken in reclaims],
            [taken.owner for taken in reclaims],
            [int(taken.counted) for taken in reclaims],
            limits.TIMEOUT_GRACE_MS,
        )
        async with self._database.transaction() as connection:
            awaiting = await lock_awaiting(connection, [taken.run_id for taken in reclaims if taken.state in TERMINAL])
            rows = await connection.fetch(_SQL["reclaim"], *args)
            ended = [(run_id, job_id, ended_ms) for run_id, job_id, ended_ms, _ in rows if ended_ms is not None]
            topics = await follow_and_leave(connection, ended, awaiting)
            topics |= await leave_gates(connection, [row[0] for row in rows])
        topics |= {f"ready/{row[3]}" for row in rows}
        if any(taken.state is RunState.RETRYING for taken in reclaims):
            topics.add("waiting")
        self._notices.announce(*topics)
        return {RunId(row[0]) for row in rows}
