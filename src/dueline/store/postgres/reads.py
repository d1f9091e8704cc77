"""Reads on PostgreSQL."""

from __future__ import annotations

from dueline.domain.ids import RunId, first_id_at
from dueline.domain.run import Run
from dueline.store.postgres.part import Part, queries
from dueline.store.records import to_run
from dueline.store.shapes import RunFilter

_SQL = queries("reads")
_FIRST_ID = bytes(16)
_LAST_ID = b"\xff" * 16


class ReadPart(Part):
    async def now_ms(self) -> int:
        now_ms: int = await self._database.fetchval(_SQL["clock"])
        return now_ms

    async def run(self, tenant: str, run_id: RunId) -> Run | None:
        rows = await self._database.fetch(_SQL["run"], tenant, run_id)
        return to_run(rows[0], tuple(rows[0][8])) if rows else None

    async def runs_page(self, match: RunFilter, *, before: RunId | None, limit: int) -> list[Run]:
        low = _FIRST_ID if match.from_ms is None else first_id_at(match.from_ms)
        high = _LAST_ID if match.to_ms is None else first_id_at(match.to_ms)
        args = (match.tenant, low, min(high, before or _LAST_ID), match.state, match.kind, match.tag, limit)
        if match.job_id is None:
            rows = await self._database.fetch(_SQL["runs_page"], *args)
        else:
            rows = await self._database.fetch(_SQL["runs_page_of_job"], *args, match.job_id)
        return [to_run(row, tuple(row[8])) for row in rows]
