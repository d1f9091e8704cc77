"""Runs claimed ahead of their time, held until their millisecond."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

from dueline.domain import limits
from dueline.domain.ids import RunId
from dueline.domain.rates import Rates
from dueline.store.shapes import Claim

_SLOTS = "slots"


class Holding:
    """Ordered by due time."""

    def __init__(self) -> None:
        self._freed = Rates(forget_s=limits.HELD_LATE_MS / 1000)
        self._heap: list[tuple[int, int, Claim, bool]] = []
        self._numbers = count()
        self.tasks = 0
        """How many of them are tasks, with those that were taken last."""
        self._tasks_taken = 0

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, claims: list[Claim], *, tasks: bool = False) -> None:
        for claim in claims:
            heappush(self._heap, (claim.due_ms, next(self._numbers), claim, tasks))
        self.tasks += len(claims) * tasks

    def take_due(self, now_ms: int, *, limit: int) -> list[Claim]:
        """Those whose time has come. Until `started` they have their place here."""
        due: list[Claim] = []
        while self._heap and self._heap[0][0] <= now_ms and len(due) < limit:
            _, _, claim, is_task = heappop(self._heap)
            due.append(claim)
            self._tasks_taken += is_task
        return due

    def started(self) -> None:
        """What was taken is on its way, or gone."""
        self.tasks -= self._tasks_taken
        self._tasks_taken = 0

    def slots_freed(self, count: int, *, now_s: float) -> None:
        """Learn the pace at which they become free."""
        self._freed.add(_SLOTS, count, now_s=now_s)

    def too_many(self, now_s: float) -> int:
        """How many would not get a slot soon at that pace: others may have one."""
        freed_per_s = self._freed.read(now_s=now_s).get(_SLOTS, 0.0)
        return max(0, min(len(self._heap) - round(freed_per_s * limits.HELD_PATIENCE_S), limits.CLAIM_BATCH))

    def clear(self) -> None:
        self._heap.clear()
        self.tasks = self._tasks_taken = 0

    def run_ids(self) -> set[RunId]:
        return {entry[2].run_id for entry in self._heap}

    def next_due_ms(self) -> int | None:
        return self._heap[0][0] if self._heap else None
