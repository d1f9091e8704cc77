"""Finished runs on SQLite: one table."""

from __future__ import annotations

from collections.abc import Sequence

from dueline.domain.ids import JobId
from dueline.domain.retention import EVERYONE, Sweep, sweep_of_all, sweeps_of_tenants
from dueline.store.records import quota_days
from dueline.store.sqlite.part import Part, pack, pack_ids, queries
from dueline.store.sqlite.session import Session

_SQL = queries("history")
_TENANTS = queries("tenants")
_FORGET_JOBS = (_SQL["forget_versions"], _SQL["forget_told_of"], _SQL["forget_retentions"], _SQL["forget_jobs"])


class HistoryPart(Part):
    async def prepare_history(self, *, days_ahead: int) -> None:
        """Nothing to do: SQLite has no partitions. Rows lie in the order of their ids, and so of their days, in one table."""
        del days_ahead

    async def sweep_history(self, *, keep_days: int, limit: int) -> bool:
        """Asked of a reader first: as a rule there is nothing to forget."""
        sweep = await self._database.read(_next_sweep, keep_days)
        if sweep is None:
            return False
        await self._database.write(_sweep_history, sweep, limit)
        return True

    async def forget_told(self, *, keep_days: int, limit: int) -> bool:
        return await self._database.write(_forget_told, keep_days, limit)

    async def forget_deleted(self, *, keep_days: int, limit: int) -> bool:
        return await self._database.write(_forget_deleted, keep_days, limit)

    async def history_since(self, tenant: str, job_id: JobId) -> int:
        return await self._database.read(_history_since, tenant, job_id)


def _next_sweep(session: Session, keep_days: int) -> Sweep | None:
    """The first for which there is something to look at."""
    now_ms = session.now_ms
    days, swept_ms = quota_days(session.rows(_TENANTS["with_quotas"])), dict(session.rows(_SQL["swept"]))
    found = [
        sweep_of_all(keep_days=keep_days, now_ms=now_ms),
        *sweeps_of_tenants(days, swept_ms, keep_days=keep_days, now_ms=now_ms),
    ]
    return next((one for one in found if session.rows(_SQL["ended"], one.from_ms, one.to_ms, 0)), None)


def _sweep_history(session: Session, sweep: Sweep, limit: int) -> None:
    """As far as one pass goes: what ended in one millisecond is forgotten together."""
    beyond_ms = session.value(_SQL["ended"], sweep.from_ms, sweep.to_ms, limit)
    first_ms = session.value(_SQL["ended"], sweep.from_ms, sweep.to_ms, 0)
    to_ms = sweep.to_ms if beyond_ms is None else max(beyond_ms, first_ms + 1)
    tenants = pack(list(sweep.tenants)) if sweep.tenants else None
    gone = session.rows(_SQL["forget"], sweep.from_ms, to_ms, tenants)
    forget_letters(session, gone)
    session.rows(_SQL["mark"], pack(list(sweep.tenants or (EVERYONE,))), to_ms)


def _forget_told(session: Session, keep_days: int, limit: int) -> bool:
    """Together with how far it went: an audit begins there."""
    to_ms = _kept_ms(session, keep_days)
    gone = session.rows(_SQL["forget_told"], to_ms, limit)
    if gone:
        session.rows(_SQL["mark"], pack([EVERYONE]), to_ms)
    return len(gone) == limit


def _forget_deleted(session: Session, keep_days: int, limit: int) -> bool:
    gone = [row[0] for row in session.rows(_SQL["deleted"], _kept_ms(session, keep_days), limit)]
    for statement in _FORGET_JOBS:
        session.rows(statement, pack_ids(gone))
    return len(gone) == limit


def _kept_ms(session: Session, keep_days: int) -> int:
    """From when on everything is kept."""
    return sweep_of_all(keep_days=keep_days, now_ms=session.now_ms).to_ms


def forget_letters(session: Session, runs: Sequence[tuple[str, bytes]]) -> None:
    """Dead letters of runs, each with its tenant."""
    session.rows(_SQL["forget_letters"], pack([(tenant, run_id.hex()) for tenant, run_id in runs]))


def _history_since(session: Session, tenant: str, job_id: JobId) -> int:
    since_ms: int = session.value(_SQL["since"], tenant, job_id)
    return since_ms
