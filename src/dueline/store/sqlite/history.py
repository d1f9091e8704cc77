"""Finished runs on SQLite: one table."""

from __future__ import annotations

from dueline.store.sqlite.part import Part


class HistoryPart(Part):
    async def prepare_history(self, *, days_ahead: int) -> None:
        """Nothing to do: SQLite has no partitions. Rows lie in the order of their ids, and so of their days, in one table."""
        del days_ahead
