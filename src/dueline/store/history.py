"""What a store does about runs and jobs that are over, and too old."""

from __future__ import annotations

from typing import Protocol, TypeAlias

from dueline.domain.ids import JobId
from dueline.domain.job import Job

Finished: TypeAlias = tuple[int, JobId]
"""When a job finished, and its id: the order in which they are looked at."""


class HistoryStore(Protocol):
    async def prepare_history(self, *, days_ahead: int) -> None:
        """Make room for the days to come."""

    async def sweep_history(self, *, keep_days: int, limit: int) -> bool:
        """Forget finished runs, and their dead letters, that ended more than `keep_days` ago, or longer ago than their tenant's quota says
        if that is less. One pass, which looks at about `limit` runs or drops a day; answers whether there may be more."""

    async def sweep_jobs(self, *, limit: int) -> bool:
        """The same of jobs that keep theirs for less time than that."""

    async def forget_told(self, *, keep_days: int, limit: int) -> bool:
        """Forget what was told of occurrences that were to be more than `keep_days` ago. One pass of at most `limit` rows; answers whether
        there may be more."""

    async def forget_deleted(self, *, keep_days: int, limit: int) -> bool:
        """Forget jobs that were deleted more than `keep_days` ago, with their versions and what was told of their occurrences, once their
        runs are forgotten. One pass of at most `limit` jobs; answers whether there may be more."""


class FinishedJobStore(Protocol):
    async def finished_jobs(self, *, kept_ms: int, after: Finished, limit: int) -> list[Job]:
        """Living jobs of all tenants that finished at least so long ago, behind one of them, those first that did so first."""
