"""Makes waiting runs ready: retries and delayed runs, shortly before they are due."""

from __future__ import annotations

from dueline.domain import limits
from dueline.engine.membership import Membership
from dueline.store.protocol import RunStore

_IDLE_S = 1.0


class Promoter:
    def __init__(self, store: RunStore, membership: Membership) -> None:
        self._store = store
        self._membership = membership

    async def step(self) -> float:
        promoted = await self._store.promote(ahead_ms=limits.AHEAD_MS, limit=limits.PROMOTE_BATCH)
        if promoted.count == limits.PROMOTE_BATCH:
            return 0.0
        if promoted.next_due_ms is None:
            return _IDLE_S
        near_ms = promoted.next_due_ms - limits.AHEAD_MS
        return min(max((near_ms - self._membership.time.now_ms()) / 1000, 0.0), _IDLE_S)
