"""Plans on PostgreSQL: what is due, and the firing of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dueline.domain.ids import JobId
from dueline.store.postgres.part import Part, queries, run_columns
from dueline.store.shapes import DuePlan, Firing

_SQL = queries("plans")


class PlanPart(Part):
    async def due_plans(self, shards: Collection[int], *, since_ms: int, until_ms: int, limit: int) -> list[DuePlan]:
        rows = await self._database.fetch(_SQL["due"], list(shards), since_ms, until_ms, limit)
        return [DuePlan(*row) for row in rows]

    async def fire(self, firings: Sequence[Firing], epochs: Mapping[int, int]) -> set[JobId]:
        shards = {firing.shard for firing in firings}
        runs = [run for firing in firings for run in firing.runs]
        rows = await self._database.fetch(
            _SQL["fire"],
            list(shards),
            [epochs[shard] for shard in shards],
            [firing.job_id for firing in firings],
            [firing.shard for firing in firings],
            [firing.generation for firing in firings],
            [firing.next_ms for firing in firings],
            [firing.following_ms for firing in firings],
            *run_columns(runs),
        )
        self._notices.announce(*{f"ready/{run.queue}" for run in runs})
        return {JobId(row[0]) for row in rows}
