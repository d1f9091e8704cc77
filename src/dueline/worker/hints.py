"""Where something may be ready: what a worker heard, and now and then a look at everything, because a hint may be lost."""

from __future__ import annotations

from dueline.domain import limits
from dueline.domain.lanes import PLAIN, TASK, serves
from dueline.domain.rests import Rests
from dueline.runtime.clock import Clock
from dueline.store.protocol import RunStore
from dueline.worker.options import WorkerOptions

_REST = 50
"""How many times as long as looks at everything take the next one is put off."""


class Hints:
    def __init__(self, store: RunStore, clock: Clock, options: WorkerOptions) -> None:
        self._store = store
        self._clock = clock
        self._options = options
        self._usual = {PLAIN, TASK} if TASK in options.labels else {PLAIN}
        self._hinted: set[tuple[str, str | None]] = set()
        self._lanes: dict[str, set[str]] = {}
        self._poll_at_s = 0.0
        self._rests = Rests(_REST)

    def add(self, queue: str, lane: str | None = None) -> bool:
        """Take in that a queue may have something, in one of its lanes or in any; answers whether this worker serves it."""
        served = queue in (self._options.queues or (queue,))
        if served:
            self._hinted.add((queue, lane))
        return served

    async def take(self) -> list[tuple[str, str]]:
        """Queues that may have something, each with each of its lanes that this worker serves, or with the one that was told."""
        hinted, self._hinted = self._hinted, set()
        now_s = self._clock.monotonic_s()
        if now_s >= self._poll_at_s:
            self._poll_at_s = now_s + limits.POLL_S
            if self._rests.due(now_s):
                await self._look()
                self._rests.looked(now_s, self._clock.monotonic_s())
            hinted.update((queue, None) for queue in self._lanes)
        return sorted(
            {(queue, one) for queue, lane in hinted for one in (self._all_of(queue) if lane is None else (lane,))}
        )

    def _all_of(self, queue: str) -> set[str]:
        return self._usual | self._lanes.get(queue, set())

    async def _look(self) -> None:
        self._lanes = {}
        for queue, lane in await self._store.queues():
            if serves(lane, self._options.labels) and queue in (self._options.queues or (queue,)):
                self._lanes.setdefault(queue, set()).add(lane)
