"""Finished runs on PostgreSQL: one partition a day."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import asyncpg

from dueline.domain import limits
from dueline.domain.durations import DAY_MS
from dueline.domain.errors import StoreUnavailable
from dueline.domain.ids import JobId
from dueline.domain.retention import EVERYONE, Sweep, sweep_of_all, sweeps_of_tenants
from dueline.store.postgres.part import Part, queries
from dueline.store.postgres.reaching import Connection
from dueline.store.records import quota_days

_SQL = queries("history")
_READS = queries("reads")
_TENANTS = queries("tenants")
_FORGET_JOBS = (_SQL["forget_versions"], _SQL["forget_told_of"], _SQL["forget_retentions"], _SQL["forget_jobs"])

_Forget = Callable[[Connection, int, int], Awaitable[int]]
"""Forgets what was over before an instant, so much at most, and answers how much that was."""


class HistoryPart(Part):
    async def prepare_history(self, *, days_ahead: int) -> None:
        """Partitions for today and the days to come. A day that has rows among the other days already stays there."""
        today_ms = await self._database.fetchval(_READS["clock"]) // DAY_MS * DAY_MS
        for day in range(days_ahead + 1):
            try:
                await self._database.fetch(_SQL["add_day"], today_ms + day * DAY_MS)
            except asyncpg.CheckViolationError:
                continue

    async def sweep_history(self, *, keep_days: int, limit: int) -> bool:
        """Whole days go with their partitions; runs of the other days, and of tenants that keep less, one by one."""
        now_ms = await self._database.fetchval(_READS["clock"])
        everyone = sweep_of_all(keep_days=keep_days, now_ms=now_ms)
        if await self._drop_day(everyone.to_ms):
            return True
        async with self._database.transaction() as connection:
            if not await connection.fetchval(_SQL["sweeping"]):
                return False
            days = quota_days(await connection.fetch(_TENANTS["with_quotas"]))
            swept_ms = {row[0]: row[1] for row in await connection.fetch(_SQL["swept"])}
            for sweep in (everyone, *sweeps_of_tenants(days, swept_ms, keep_days=keep_days, now_ms=now_ms)):
                if await _sweep_history(connection, sweep, limit):
                    return True
        return False

    async def forget_told(self, *, keep_days: int, limit: int) -> bool:
        return await self._forget(_forget_told, keep_days, limit)

    async def forget_deleted(self, *, keep_days: int, limit: int) -> bool:
        return await self._forget(_forget_deleted, keep_days, limit)

    async def history_since(self, tenant: str, job_id: JobId) -> int:
        since_ms: int = await self._database.fetchval(_SQL["since"], tenant, job_id)
        return since_ms

    async def _forget(self, forget: _Forget, keep_days: int, limit: int) -> bool:
        """A pass over what is too old for everyone. Answers whether it was full."""
        async with self._database.transaction() as connection:
            if not await connection.fetchval(_SQL["sweeping"]):
                return False
            to_ms = sweep_of_all(keep_days=keep_days, now_ms=await connection.fetchval(_READS["clock"])).to_ms
            return await forget(connection, to_ms, limit) == limit

    async def _drop_day(self, ended_ms: int) -> bool:
        """Drop the oldest day that can be. One that somebody reads for long stays until the next pass."""
        for row in await self._database.fetch(_SQL["days"], ended_ms):
            try:
                async with self._database.transaction() as connection:
                    args = (row["day_ms"], ended_ms, limits.HISTORY_MOVED_MAX)
                    if await connection.fetchval(_SQL["drop_day"], *args):
                        await connection.execute(_SQL["mark"], [EVERYONE], ended_ms)
                        return True
            except StoreUnavailable as error:
                if not isinstance(error.__cause__, asyncpg.LockNotAvailableError):
                    raise
                return False
        return False


async def _sweep_history(connection: Connection, sweep: Sweep, limit: int) -> bool:
    """As far as one pass goes, if there is anything to look at: what ended in one millisecond is forgotten together."""
    ended = _SQL["ended"] if sweep.tenants else _SQL["ended_other"]
    first_ms = await connection.fetchval(ended, sweep.from_ms, sweep.to_ms, 0)
    if first_ms is None:
        return False
    beyond_ms = await connection.fetchval(ended, sweep.from_ms, sweep.to_ms, limit)
    to_ms = sweep.to_ms if beyond_ms is None else max(beyond_ms, first_ms + 1)
    if sweep.tenants:
        gone = await connection.fetch(_SQL["forget"], sweep.from_ms, to_ms, sweep.tenants)
    else:
        gone = await connection.fetch(_SQL["forget_other"], sweep.from_ms, to_ms)
    await connection.execute(_SQL["forget_letters"], [row["id"] for row in gone])
    await connection.execute(_SQL["mark"], list(sweep.tenants or (EVERYONE,)), to_ms)
    return True


async def _forget_told(connection: Connection, to_ms: int, limit: int) -> int:
    """Together with how far it went: an audit begins there."""
    gone = await connection.fetch(_SQL["forget_told"], to_ms, limit)
    if gone:
        await connection.execute(_SQL["mark"], [EVERYONE], to_ms)
    return len(gone)


async def _forget_deleted(connection: Connection, to_ms: int, limit: int) -> int:
    gone = [row["id"] for row in await connection.fetch(_SQL["deleted"], to_ms, limit)]
    for statement in _FORGET_JOBS:
        await connection.execute(statement, gone)
    # They were found by words when they lived: what they left of the blocks of these is put together.
    rows = await connection.fetch(_SQL["scattered_words"], limits.WORDS_MOVED_MAX)
    await connection.execute(_SQL["gather_words"], [row["id"] for row in rows], [row["goal"] for row in rows])
    return limit if len(rows) == limits.WORDS_MOVED_MAX else len(gone)
