"""The store's time for a process that has no lease and so no heartbeat to learn it from."""

from __future__ import annotations

from dueline.domain import limits
from dueline.runtime.clock import Clock, StoreTime
from dueline.store.protocol import ReadStore


class Timekeeper:
    def __init__(self, store: ReadStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.time = StoreTime(clock)

    async def step(self) -> float:
        sent_s = self._clock.monotonic_s()
        self.time.measured(await self._store.now_ms(), sent_s=sent_s)
        return limits.TIME_CHECK_S
