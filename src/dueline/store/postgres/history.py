"""Finished runs on PostgreSQL: one partition a day."""

from __future__ import annotations

import asyncpg

from dueline.domain.durations import DAY_MS
from dueline.store.postgres.part import Part, queries

_SQL = queries("history")
_READS = queries("reads")


class HistoryPart(Part):
    async def prepare_history(self, *, days_ahead: int) -> None:
        """Partitions for today and the days to come. A day that has rows among the other days already stays there."""
        today_ms = await self._database.fetchval(_READS["clock"]) // DAY_MS * DAY_MS
        for day in range(days_ahead + 1):
            try:
                await self._database.fetch(_SQL["add_day"], today_ms + day * DAY_MS)
            except asyncpg.CheckViolationError:
                continue
