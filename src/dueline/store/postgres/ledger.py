"""What became of occurrences, on PostgreSQL."""

from __future__ import annotations

from dueline.domain.ids import JobId, first_id_at
from dueline.domain.run import Run
from dueline.store.postgres.part import Part, queries
from dueline.store.records import to_ledger_row, to_run
from dueline.store.shapes import LedgerRow

_SQL = queries("ledger")


class LedgerPart(Part):
    async def unfired(self, job_id: JobId, *, from_ms: int, to_ms: int, limit: int) -> list[LedgerRow]:
        rows = await self._database.fetch(_SQL["unfired"], job_id, from_ms, to_ms, limit)
        return [to_ledger_row(row) for row in rows]

    async def occurrence_runs(self, job_id: JobId, *, from_ms: int, to_ms: int, limit: int) -> list[Run]:
        low, high = first_id_at(from_ms), first_id_at(to_ms + 1)
        rows = await self._database.fetch(_SQL["occurrence_runs"], job_id, low, high, from_ms, to_ms, limit)
        return [to_run(row, tuple(row[8])) for row in rows]
