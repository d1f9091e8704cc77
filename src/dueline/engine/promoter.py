"""Makes waiting runs ready: retries and delayed runs shortly before they are due, and those that get a token at their gate."""

from __future__ import annotations

from typing import Protocol

from dueline.domain import limits
from dueline.engine.membership import Membership
from dueline.store.protocol import RunStore
from dueline.store.sharing import GateStore

_IDLE_S = 1.0


class PromoterStore(RunStore, GateStore, Protocol):
    """What a promoter needs of the store."""


class Promoter:
    def __init__(self, store: PromoterStore, membership: Membership) -> None:
        self._store = store
        self._membership = membership

    async def step(self) -> float:
        promoted = await self._store.promote(ahead_ms=limits.AHEAD_MS, limit=limits.PROMOTE_BATCH)
        refill_ms = await self._store.refill(ahead_ms=limits.AHEAD_MS, limit=limits.PROMOTE_BATCH)
        if promoted.count == limits.PROMOTE_BATCH:
            return 0.0
        now_ms = self._membership.time.now_ms()
        due_ms = promoted.next_due_ms
        waits_ms = [] if due_ms is None else [due_ms - limits.AHEAD_MS - now_ms]
        waits_ms += [] if refill_ms is None else [refill_ms - now_ms]
        return min(max(min(waits_ms, default=1_000) / 1000, 0.0), _IDLE_S)
