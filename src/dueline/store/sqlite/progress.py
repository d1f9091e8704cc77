"""What runs under way tell of themselves, on SQLite."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from dueline.domain.ids import RunId
from dueline.store.shapes import Progress, Saved
from dueline.store.sqlite.part import Part, pack, pack_ids, queries
from dueline.store.sqlite.session import Session

_SQL = queries("progress")
_SWEPT_MAX = 10_000
"""Rows that one sweep takes away: more than can end between two sweeps, and some 10 ms of the writer's time."""


class ProgressPart(Part):
    async def save(self, saved: Sequence[Saved]) -> set[RunId]:
        return await self._database.write(_save, saved)

    async def progress_of(self, run_ids: Collection[RunId]) -> dict[RunId, Progress]:
        return await self._database.read(_progress_of, run_ids)


def sweep_progress(session: Session) -> None:
    """Forget what ended runs told, inside whatever transaction the caller is in."""
    session.rows(_SQL["sweep"], _SWEPT_MAX)


def _save(session: Session, saved: Sequence[Saved]) -> set[RunId]:
    told = [(one.run_id.hex(), one.token, one.checkpoint, one.progress, one.note) for one in saved]
    return {row[0] for row in session.rows(_SQL["save"], pack(told))}


def _progress_of(session: Session, run_ids: Collection[RunId]) -> dict[RunId, Progress]:
    return {RunId(run_id): Progress(*told) for run_id, *told in session.rows(_SQL["of"], pack_ids(run_ids))}
