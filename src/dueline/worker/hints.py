"""Where something may be ready: what a worker heard, and now and then a look at everything, because a hint may be lost."""

from __future__ import annotations

from dueline.domain import limits
from dueline.domain.lanes import PLAIN, TASK, serves
from dueline.runtime.clock import Clock
from dueline.store.protocol import RunStore
from dueline.worker.options import WorkerOptions

_REST = 50
"""How many times as long as a look at everything took the next one is put off: one that takes long must not take much."""


class Hints:
    def __init__(self, store: RunStore, clock: Clock, options: WorkerOptions) -> None:
        self._store = store
        self._clock = clock
        self._options = options
        self._usual = {PLAIN, TASK} if TASK in options.labels else {PLAIN}
        self._hinted: set[str] = set()
        self._lanes: dict[str, set[str]] = {}
        self._poll_at_s = 0.0
        self._look_at_s = 0.0

    def add(self, queue: str) -> bool:
        """Take in that a queue may have something; answers whether this worker serves it."""
        served = queue in (self._options.queues or (queue,))
        if served:
            self._hinted.add(queue)
        return served

    async def take(self) -> list[tuple[str, str]]:
        """Queues that may have something, each with each of its lanes that this worker serves."""
        queues, self._hinted = self._hinted, set()
        now_s = self._clock.monotonic_s()
        if now_s >= self._poll_at_s:
            self._poll_at_s = now_s + limits.POLL_S
            if now_s >= self._look_at_s:
                await self._look()
                self._look_at_s = now_s + (self._clock.monotonic_s() - now_s) * _REST
            queues.update(self._lanes)
        return [
            (queue, lane) for queue in sorted(queues) for lane in sorted(self._usual | self._lanes.get(queue, set()))
        ]

    async def _look(self) -> None:
        self._lanes = {}
        for queue, lane in await self._store.queues():
            if serves(lane, self._options.labels) and queue in (self._options.queues or (queue,)):
                self._lanes.setdefault(queue, set()).add(lane)
