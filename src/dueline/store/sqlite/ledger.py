"""What became of occurrences, on SQLite."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.domain.ids import JobId, first_id_at
from dueline.domain.ledger import Unfired
from dueline.domain.run import Run
from dueline.store.records import to_ledger_row, to_run, unwrap_tags
from dueline.store.shapes import LedgerRow
from dueline.store.sqlite.part import Part, pack, queries
from dueline.store.sqlite.session import Session

_SQL = queries("ledger")


class LedgerPart(Part):
    async def unfired(self, job_id: JobId, *, from_ms: int, to_ms: int, limit: int) -> list[LedgerRow]:
        return await self._database.page(_unfired, job_id, from_ms, to_ms, limit)

    async def occurrence_runs(self, job_id: JobId, *, from_ms: int, to_ms: int, limit: int) -> list[Run]:
        return await self._database.page(_occurrence_runs, job_id, from_ms, to_ms, limit)


def tell(session: Session, told: Sequence[tuple[JobId, int, Unfired]]) -> None:
    """Keep what became of occurrences, given as (job, version, stretch), inside whatever transaction the caller is in."""
    if told:
        rows = [
            (job_id.hex(), stretch.from_ms, stretch.to_ms, version, stretch.verdict, stretch.reason)
            for job_id, version, stretch in told
        ]
        session.rows(_SQL["tell"], pack(rows))


def _unfired(session: Session, job_id: JobId, from_ms: int, to_ms: int, limit: int) -> list[LedgerRow]:
    return [to_ledger_row(row) for row in session.rows(_SQL["unfired"], job_id, from_ms, to_ms, limit)]


def _occurrence_runs(session: Session, job_id: JobId, from_ms: int, to_ms: int, limit: int) -> list[Run]:
    low, high = first_id_at(from_ms), first_id_at(to_ms + 1)
    rows = session.rows(_SQL["occurrence_runs"], job_id, low, high, from_ms, to_ms, limit)
    return [to_run(row, unwrap_tags(row[8])) for row in rows]
