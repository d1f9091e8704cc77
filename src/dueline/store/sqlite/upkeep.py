"""What rows leave behind on SQLite: nothing. A row is changed where it is, and its place is free once it is deleted."""

from __future__ import annotations

from dueline.store.sqlite.part import Part


class UpkeepPart(Part):
    async def littered(self, *, least: int) -> list[str]:
        del least
        return []

    async def clear(self, table: str) -> None:
        """There is nothing."""
