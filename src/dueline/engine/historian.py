"""Makes room in history for the days to come."""

from __future__ import annotations

from dueline.domain import limits
from dueline.store.protocol import HistoryStore

_AGAIN_S = 3_600.0


class Historian:
    def __init__(self, store: HistoryStore) -> None:
        self._store = store

    async def step(self) -> float:
        await self._store.prepare_history(days_ahead=limits.HISTORY_DAYS_AHEAD)
        return _AGAIN_S
