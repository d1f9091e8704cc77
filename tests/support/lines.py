"""A line in memory, to hold stores to the rules by which they rank."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count

from dueline.domain.fairness import KEYS_TOLD_APART, Flow, Lineup, Seen, Standing, allot, clock_of


class Line:
    """One line in memory, ranked by the rules and served in rank order."""

    def __init__(self, **weights: float) -> None:
        self._weights = weights
        self._heap: list[tuple[int, int, str, int]] = []
        self._finish: dict[Flow, int] = {}
        self._numbers = count()

    def enqueue(self, tenant: str, runs: int, *, priority: int = 5, key: str = "", missed: bool = False) -> None:
        self.enqueue_keys(tenant, [key] * runs, priority=priority, missed=missed)

    def enqueue_keys(self, tenant: str, keys: list[str], *, priority: int = 5, missed: bool = False) -> None:
        """Runs that come together, each with its key."""
        standing = Standing.MISSED if missed else Standing.FRESH
        lineup = Lineup(("q", "", tenant, priority, standing, key) for key in keys)
        clock = self._clock()
        wanted = lineup.wanted
        (level,) = {flow.level for flow in wanted}
        others = sum(
            other.level == level and other not in wanted and finish > clock for other, finish in self._finish.items()
        )
        taken = {
            flow: stretch.ending(
                max(stretch.finish, self._finish.get(flow, stretch.start) + stretch.finish - stretch.start)
            )
            for flow, stretch in allot(
                wanted, {level: Seen(clock, self._weights.get(tenant, 1.0), min(others, KEYS_TOLD_APART))}
            ).items()
        }
        self._finish |= {flow: stretch.finish for flow, stretch in taken.items()}
        for key, ranked in zip(keys, lineup.ranks(taken), strict=True):
            heappush(self._heap, (ranked, next(self._numbers), f"{tenant}{key}", priority))

    def serve(self, runs: int) -> list[str]:
        return [heappop(self._heap)[2] for _ in range(min(runs, len(self._heap)))]

    def serve_levels(self, runs: int) -> list[int]:
        return [heappop(self._heap)[3] for _ in range(min(runs, len(self._heap)))]

    def _clock(self) -> int:
        if self._heap:
            return clock_of(self._heap[0][0], priority=self._heap[0][3])
        return max(self._finish.values(), default=0)
