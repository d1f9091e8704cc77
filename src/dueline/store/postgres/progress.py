"""What runs under way tell of themselves, on PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dueline.domain.ids import RunId
from dueline.store.postgres.database import Database
from dueline.store.postgres.part import Part, queries
from dueline.store.shapes import Progress, Saved

_SQL = queries("progress")
SWEPT_NOTHING = bytes(16)


class ProgressPart(Part):
    async def save(self, saved: Sequence[Saved]) -> set[RunId]:
        told = _merged(saved)
        rows = await self._database.fetch(
            _SQL["save"],
            [one.run_id for one in told],
            [one.token for one in told],
            [one.checkpoint for one in told],
            [one.progress for one in told],
            [one.note for one in told],
        )
        return {RunId(row[0]) for row in rows}

    async def progress_of(self, run_ids: Collection[RunId]) -> dict[RunId, Progress]:
        rows = await self._database.fetch(_SQL["of"], list(run_ids))
        return {RunId(row[0]): Progress(*row[1:]) for row in rows}


async def sweep_progress(database: Database, above: bytes, *, limit: int) -> bytes:
    """Forget what ended runs told, looking at some rows above an id. Answers where to go on: each process goes round."""
    rows = await database.fetch(_SQL["sweep"], above, limit)
    return bytes(rows[-1][0]) if len(rows) == limit else SWEPT_NOTHING


def _merged(saved: Sequence[Saved]) -> list[Saved]:
    """What a batch tells of one run, as one: a statement cannot write a row twice. What is told last counts."""
    merged: dict[tuple[RunId, int], Saved] = {}
    for one in saved:
        before = merged.get((one.run_id, one.token), one)
        merged[one.run_id, one.token] = Saved(
            one.run_id,
            one.token,
            before.checkpoint if one.checkpoint is None else one.checkpoint,
            before.progress if one.progress is None else one.progress,
            before.note if one.note is None else one.note,
        )
    return list(merged.values())
