"""Runs claimed ahead of their time, held until their millisecond."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

from dueline.domain.ids import RunId
from dueline.store.shapes import Claim


class Holding:
    """Ordered by due time."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Claim]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, claims: list[Claim]) -> None:
        for claim in claims:
            heappush(self._heap, (claim.due_ms, next(self._numbers), claim))

    def take_due(self, now_ms: int, *, limit: int) -> list[Claim]:
        due: list[Claim] = []
        while self._heap and self._heap[0][0] <= now_ms and len(due) < limit:
            due.append(heappop(self._heap)[2])
        return due

    def clear(self) -> None:
        self._heap.clear()

    def run_ids(self) -> set[RunId]:
        return {entry[2].run_id for entry in self._heap}

    def next_due_ms(self) -> int | None:
        return self._heap[0][0] if self._heap else None
