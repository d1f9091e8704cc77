"""Dead letters on PostgreSQL: failed runs that nobody has dealt with. And finished runs that are tried again."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import asyncpg

from dueline.domain.ids import RunId
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.runs import enqueue_arguments
from dueline.store.records import to_run
from dueline.store.requests import NothingDone, only
from dueline.store.retries import FinishedRun
from dueline.store.shapes import DeadLetter, DeadLetterFilter, Redrive

_SQL = queries("deadletters")
_RUNS = queries("runs")
_LAST_ID = b"\xff" * 16


class DeadLetterPart(Part):
    async def dead_letters(self, match: DeadLetterFilter, *, before: RunId | None, limit: int) -> list[DeadLetter]:
        rows = await self._database.fetch(
            _SQL["page"],
            match.tenant,
            before or _LAST_ID,
            match.job_id,
            match.queue,
            match.reason,
            match.from_ms,
            match.to_ms,
            limit,
        )
        return [_to_dead_letter(row) for row in rows]

    async def dead_letter(self, tenant: str, run_id: RunId) -> DeadLetter | None:
        rows = await self._database.fetch(_SQL["get"], tenant, run_id)
        return _to_dead_letter(rows[0]) if rows else None

    async def dead_letter_count(self, match: DeadLetterFilter) -> int:
        count: int = await self._database.fetchval(
            _SQL["count"], match.tenant, match.job_id, match.queue, match.reason, match.from_ms, match.to_ms
        )
        return count

    async def redrive(self, tenant: str, redrives: Sequence[Redrive]) -> set[RunId]:
        """Whoever locks a dead letter writes the run in its place. Only with that run there it is dealt with."""
        run_ids = [one.run_id for one in redrives]
        try:
            async with self._effect(only(one.run.id for one in redrives)) as connection:
                found = {row[0] for row in await connection.fetch(_SQL["found"], tenant, run_ids)}
                runs = [one.run for one in redrives if one.run_id in found]
                if runs:
                    ranks = await self._ranks.of_new(runs)
                    await connection.execute(_RUNS["enqueue"], *enqueue_arguments(runs, ranks))
                rows = await connection.fetch(_SQL["redriven"], tenant, run_ids, [one.run.id for one in redrives])
                redriven = {RunId(row[0]) for row in rows}
                if not redriven:
                    raise NothingDone(redriven)
                if runs:
                    await connection.execute(_SQL["purge"], tenant, list(found & redriven))
        except NothingDone:
            return set()
        if runs:
            self._notices.announce("waiting", *{f"ready/{run.queue}" for run in runs})
        return redriven

    async def finished_run(self, tenant: str, run_id: RunId) -> FinishedRun | None:
        rows = await self._database.fetch(_SQL["finished"], tenant, run_id)
        return FinishedRun(to_run(rows[0], tuple(rows[0][8])), rows[0][21]) if rows else None

    async def try_again(self, tenant: str, redrive: Redrive) -> bool:
        """Whoever else tries the same run again waits for its record, and whoever redrives it for the dead letter: only then can be seen
        whether the new run was written before, however far it got since."""
        run_id, run = redrive.run_id, redrive.run
        try:
            async with self._effect(run.id) as connection:
                if not await connection.fetch(_SQL["lock_finished"], tenant, run_id):
                    raise NothingDone(False)
                await connection.execute(_SQL["purge"], tenant, [run_id])
                if not await connection.fetch(_SQL["redriven"], tenant, [run_id], [run.id]):
                    ranks = await self._ranks.of_new([run])
                    if not await connection.fetch(_RUNS["enqueue"], *enqueue_arguments([run], ranks)):
                        raise NothingDone(False)
        except NothingDone:
            return False
        self._notices.announce("waiting", f"ready/{run.queue}")
        return True

    async def purge(self, tenant: str, run_ids: Collection[RunId]) -> int:
        return len(await self._database.fetch(_SQL["purge"], tenant, list(run_ids)))


def _to_dead_letter(row: asyncpg.Record) -> DeadLetter:
    """A run in the order of `reads.sql`, then its spec and when it failed."""
    return DeadLetter(run=to_run(row, tuple(row[8])), spec=row[21], failed_ms=row[22])
