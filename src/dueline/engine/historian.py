"""Makes room in history for the days to come, and forgets what is too old."""

from __future__ import annotations

from dueline.domain import limits
from dueline.store.protocol import HistoryStore

_AGAIN_S = 3_600.0
_PAUSE_S = 0.02
"""Between the passes of a sweep others have their turn."""


class Historian:
    def __init__(self, store: HistoryStore, *, keep_days: int) -> None:
        self._store = store
        self._keep_days = keep_days
        self._sweeping = False

    async def step(self) -> float:
        if not self._sweeping:
            await self._store.prepare_history(days_ahead=limits.HISTORY_DAYS_AHEAD)
        self._sweeping = await self._store.sweep_history(keep_days=self._keep_days, limit=limits.HISTORY_SWEPT_MAX)
        return _PAUSE_S if self._sweeping else _AGAIN_S
