"""Jobs on PostgreSQL that keep their finished runs for less time than others."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.domain import limits
from dueline.domain.ids import JobId, RunId
from dueline.domain.retention import JobLook, KeptRun
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.reaching import Connection
from dueline.store.records import decode_definition

_SQL = queries("retentions")
_HISTORY = queries("history")
_READS = queries("reads")


class RetentionPart(Part):
    async def sweep_jobs(self, *, limit: int) -> bool:
        async with self._database.transaction() as connection:
            if not await connection.fetchval(_HISTORY["sweeping"]):
                return False
            return await _sweep_jobs(connection, limit)


async def keep_runs(connection: Connection, job_ids: Sequence[JobId]) -> None:
    """These jobs say anew how long they keep their runs. None: no statement."""
    if job_ids:
        await connection.execute(_SQL["keep"], job_ids)


async def _sweep_jobs(connection: Connection, limit: int) -> bool:
    """Whether there was any job to look at."""
    due = await connection.fetch(_SQL["due"], limits.RETENTIONS_SWEPT_MAX)
    now_ms = await connection.fetchval(_READS["clock"]) if due else 0
    gone: list[RunId] = []
    for job_id, after_id, definition, deleted in due:
        keep_ms = decode_definition(definition).retention_ms
        if keep_ms is None:
            await connection.execute(_SQL["put_off"], job_id, None, None, 0)
            continue
        look = JobLook(keep_ms=keep_ms, after_id=after_id, now_ms=now_ms)
        runs = [KeptRun(*row) for row in await connection.fetch(_SQL["looked"], job_id, *look.bounds, limit)]
        old = [run.id for run in look.too_old(runs)]
        if old:
            await connection.execute(_SQL["forget"], old, old[0], old[-1])
        gone += old
        swept_ms = look.cut_ms if old else 0
        if len(runs) == limit:
            await connection.execute(_SQL["put_off"], job_id, now_ms, runs[-1].id, swept_ms)
            break
        limit -= len(runs)
        ((first_id, lives),) = await connection.fetch(_SQL["left"], job_id)
        over = deleted and first_id is None and not lives
        await connection.execute(_SQL["put_off"], job_id, None if over else look.next_ms(first_id), None, swept_ms)
    if gone:
        await connection.execute(_HISTORY["forget_letters"], gone)
    return bool(due)
