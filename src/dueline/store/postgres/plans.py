"""Plans on PostgreSQL: what is due, and the firing of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter

import asyncpg

from dueline.domain import limits
from dueline.domain.ids import JobId
from dueline.store.postgres.part import Part, position_columns, queries, run_columns, sparse_column, told_columns
from dueline.store.shapes import DuePlan, Firing

_SQL = queries("plans")
_job_id = attrgetter("job_id")
_ZONED_PAGE = 2_000
"""Plans that are looked at in one go for new rules of the time zones: while those of them that are zoned are written, nothing is fired."""
_BEFORE_ALL = bytes(16)


class PlanPart(Part):
    async def due_plans(self, shards: Collection[int], *, since_ms: int, until_ms: int, limit: int) -> list[DuePlan]:
        rows = await self._database.fetch(_SQL["due"], list(shards), since_ms, until_ms, limit)
        return [DuePlan(*row) for row in rows]

    async def crowds(self, shards: Collection[int], *, since_ms: int, until_ms: int, least: int) -> dict[int, int]:
        rows = await self._database.fetch(_SQL["crowds"], list(shards), since_ms, until_ms, least)
        return {row[0]: row[1] for row in rows}

    async def fire(self, firings: Sequence[Firing], epochs: Mapping[int, int]) -> set[JobId]:
        # Plans are locked in about this order: whoever else locks several takes them in the order of their jobs.
        firings = sorted(firings, key=_job_id)
        shards = {firing.shard for firing in firings}
        runs = [run for firing in firings for run in firing.runs]
        told = [(firing.job_id, firing.version, unfired) for firing in firings for unfired in firing.unfired]
        ranks = await self._ranks.of_new(runs)
        args = (
            list(shards),
            [epochs[shard] for shard in shards],
            [firing.job_id for firing in firings],
            [firing.shard for firing in firings],
            [firing.generation for firing in firings],
            [firing.next_ms for firing in firings],
            *position_columns([firing.position for firing in firings]),
            limits.AHEAD_MS,
            *run_columns(runs, ranks),
            *told_columns(told),
            sparse_column([run.notifies or None for run in runs]),
        )
        try:
            rows = await self._database.fetch(_SQL["fire_new"], *args)
        except asyncpg.UniqueViolationError:
            rows = await self._database.fetch(_SQL["fire"], *args)
        topics = {f"ready/{run.queue}" for run, rank in zip(runs, ranks, strict=True) if rank is not None}
        if rows and rows[0]["waiting"]:
            topics.add("waiting")
        self._notices.announce(*topics)
        return {JobId(row[0]) for row in rows}

    async def next_due_ms(self) -> int | None:
        ((due_ms,),) = await self._database.fetch(_SQL["next_due"])
        return due_ms if due_ms is None else int(due_ms)

    async def stale_plans(self, shards: Collection[int], *, limit: int) -> list[tuple[str, JobId]]:
        rows = await self._database.fetch(_SQL["stale"], list(shards), limit)
        return [(row[0], JobId(row[1])) for row in rows]

    async def adopt_zones(self, epochs: Mapping[int, int], tzdata: str) -> int:
        older = await self._database.fetch(_SQL["older_zones"], list(epochs.keys()), list(epochs.values()), tzdata)
        if not older:
            return 0
        shards, theirs = [row[0] for row in older], [row[1] for row in older]
        last: bytes | None = _BEFORE_ALL
        while last is not None:
            ((last, job_ids),) = await self._database.fetch(_SQL["zoned"], last, shards, _ZONED_PAGE)
            if job_ids:
                async with self._database.transaction() as connection:
                    rows = await connection.fetch(_SQL["lock_shards"], shards, theirs)
                    await connection.fetch(_SQL["spoil_zoned"], job_ids, [row[0] for row in rows])
                self._notices.announce("stale")
        return len(await self._database.fetch(_SQL["adopt_zones"], shards, theirs, tzdata))
