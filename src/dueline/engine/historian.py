"""Makes room in history for the days to come, and forgets what is too old: finished runs, what was told of occurrences, deleted jobs,
requests with their answers, and what listeners were told."""

from __future__ import annotations

from typing import Protocol

from dueline.domain import limits
from dueline.store.history import HistoryStore

_AGAIN_S = 3_600.0
_PAUSE_S = 0.02
"""Between the passes of a sweep others have their turn."""


class HistorianStore(HistoryStore, Protocol):
    """What a historian needs of the store; see `RequestStore` and `EventStore`."""

    async def forget_requests(self, *, limit: int) -> int: ...

    async def forget_changes(self, *, kept_ms: int, limit: int) -> int: ...


class Historian:
    def __init__(self, store: HistorianStore, *, keep_days: int) -> None:
        self._store = store
        self._keep_days = keep_days
        self._sweeping = False

    async def step(self) -> float:
        if not self._sweeping:
            await self._store.prepare_history(days_ahead=limits.HISTORY_DAYS_AHEAD)
        most = limits.HISTORY_SWEPT_MAX
        requests = await self._store.forget_requests(limit=most)
        changes = await self._store.forget_changes(kept_ms=limits.EVENTS_KEPT_MS, limit=most)
        runs = await self._store.sweep_history(keep_days=self._keep_days, limit=most)
        of_jobs = await self._store.sweep_jobs(limit=most)
        told = await self._store.forget_told(keep_days=self._keep_days, limit=most)
        deleted = await self._store.forget_deleted(keep_days=self._keep_days, limit=limits.JOBS_FORGOTTEN_MAX)
        self._sweeping = runs or of_jobs or told or deleted or most in (requests, changes)
        return _PAUSE_S if self._sweeping else _AGAIN_S
