"""Jobs on SQLite that keep their finished runs for less time than others."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.domain import limits
from dueline.domain.ids import JobId
from dueline.domain.retention import JobLook, KeptRun
from dueline.store.records import decode_definition
from dueline.store.sqlite.history import forget_letters
from dueline.store.sqlite.part import Part, pack_ids, queries
from dueline.store.sqlite.session import Session

_SQL = queries("retentions")


class RetentionPart(Part):
    async def sweep_jobs(self, *, limit: int) -> bool:
        """Asked of a reader first: as a rule there is no job to look at."""
        if not await self._database.read(_is_due):
            return False
        await self._database.write(_sweep_jobs, limit)
        return True


def keep_runs(session: Session, job_ids: Sequence[JobId]) -> None:
    """These jobs say anew how long they keep their runs. None: no statement."""
    if job_ids:
        session.rows(_SQL["keep"], pack_ids(job_ids))


def _is_due(session: Session) -> bool:
    return bool(session.rows(_SQL["due"], 1))


def _sweep_jobs(session: Session, limit: int) -> None:
    gone: list[KeptRun] = []
    for job_id, after_id, definition, deleted in session.rows(_SQL["due"], limits.RETENTIONS_SWEPT_MAX):
        keep_ms = decode_definition(definition).retention_ms
        if keep_ms is None:
            session.rows(_SQL["put_off"], job_id, None, None, 0)
            continue
        look = JobLook(keep_ms=keep_ms, after_id=after_id, now_ms=session.now_ms)
        runs = [KeptRun(*row) for row in session.rows(_SQL["looked"], job_id, *look.bounds, limit)]
        old = look.too_old(runs)
        session.rows(_SQL["forget"], pack_ids(run.id for run in old))
        gone += old
        swept_ms = look.cut_ms if old else 0
        if len(runs) == limit:
            session.rows(_SQL["put_off"], job_id, session.now_ms, runs[-1].id, swept_ms)
            break
        limit -= len(runs)
        ((first_id, lives),) = session.rows(_SQL["left"], job_id)
        over = deleted and first_id is None and not lives
        session.rows(_SQL["put_off"], job_id, None if over else look.next_ms(first_id), None, swept_ms)
    forget_letters(session, [(run.tenant, run.id) for run in gone])
