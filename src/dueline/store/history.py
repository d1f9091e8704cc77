"""What a store does about finished runs that are too old."""

from __future__ import annotations

from typing import Protocol


class HistoryStore(Protocol):
    async def prepare_history(self, *, days_ahead: int) -> None:
        """Make room for the days to come."""

    async def sweep_history(self, *, keep_days: int, limit: int) -> bool:
        """Forget finished runs, and their dead letters, that ended more than `keep_days` ago, or longer ago than their tenant's quota says
        if that is less. One pass, which looks at about `limit` runs or drops a day; answers whether there may be more."""

    async def sweep_jobs(self, *, limit: int) -> bool:
        """The same of jobs that keep theirs for less time than that."""
