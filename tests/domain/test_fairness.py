"""Whose turn it is: shares by weight, priorities without starvation, quiet ones in front."""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.fairness import Flow, Standing, clock_of, flow_of, rank, stretch
from dueline.domain.job import PRIORITIES


class Line:
    """One line in memory, ranked by the rules and served in rank order."""

    def __init__(self, **weights: float) -> None:
        self._weights = weights
        self._heap: list[tuple[int, int, str, int]] = []
        self._finish: dict[Flow, int] = {}
        self._numbers = count()

    def enqueue(self, tenant: str, runs: int, *, priority: int = 5, key: str = "", missed: bool = False) -> None:
        standing = Standing.MISSED if missed else Standing.FRESH
        flow = flow_of("q", "", tenant, priority=priority, standing=standing, fairness_key=key)
        clock = self._clock()
        others = sum(
            (other.tenant, other.level) == (tenant, flow.level) and other != flow and finish > clock
            for other, finish in self._finish.items()
        )
        taken = stretch(
            clock=clock,
            finish=self._finish.get(flow),
            factor=flow.factor,
            others=others,
            weight=self._weights.get(tenant, 1.0),
            count=runs,
        )
        self._finish[flow] = taken.finish
        for index in range(runs):
            ranked = rank(taken.start + index * taken.step, priority=priority, missed=missed)
            heappush(self._heap, (ranked, next(self._numbers), f"{tenant}{key}", priority))

    def serve(self, runs: int) -> list[str]:
        return [heappop(self._heap)[2] for _ in range(min(runs, len(self._heap)))]

    def serve_levels(self, runs: int) -> list[int]:
        return [heappop(self._heap)[3] for _ in range(min(runs, len(self._heap)))]

    def _clock(self) -> int:
        if self._heap:
            return clock_of(self._heap[0][0], priority=self._heap[0][3])
        return max(self._finish.values(), default=0)


def test_a_tenant_alone_is_served_first_come_first() -> None:
    line = Line()
    for key in "abc":
        line.enqueue("t", 1, key="")
        line.enqueue("t", 1, key=key)
    assert line.serve(6)[0] == "t"
    assert line.serve(1) == []


@pytest.mark.parametrize("late", [0, 100, 5_000])
def test_two_that_saturate_share_by_their_weights_in_any_stretch(late: int) -> None:
    line = Line(light=1.0, heavy=3.0)
    line.enqueue("light", 20_000)
    line.serve(late)
    line.enqueue("heavy", 20_000)
    for _ in range(10):
        served = Counter(line.serve(400))
        assert abs(served["heavy"] - 300) <= 2


def test_who_was_served_alone_owes_nothing_to_who_comes_later() -> None:
    line = Line()
    line.enqueue("first", 5_000)
    assert len(line.serve(5_000)) == 5_000
    line.enqueue("first", 1_000)
    line.enqueue("second", 1_000)
    assert abs(Counter(line.serve(500))["second"] - 250) <= 2


def test_a_quiet_tenant_stands_in_front_of_a_million() -> None:
    line = Line()
    line.enqueue("noisy", 100_000)
    line.serve(1_000)
    for _ in range(20):
        line.enqueue("quiet", 1)
        assert "quiet" in line.serve(3)


def test_a_tenant_gets_no_more_by_using_more_keys() -> None:
    line = Line()
    line.enqueue("plain", 50_000)
    for _ in range(500):
        for index in range(10):
            line.enqueue("clever", 5, key=str(index))
        line.serve(60)
    served = Counter(line.serve(2_000))
    assert served["plain"] >= 950
    assert max(served[f"clever{index}"] for index in range(10)) <= 115


def test_an_important_run_starts_next_and_the_others_still_make_progress() -> None:
    line = Line()
    line.enqueue("t", 100_000, priority=5)
    line.serve_levels(1_000)
    line.enqueue("t", 1, priority=9)
    assert line.serve_levels(1) == [9]
    line.enqueue("t", 10_000, priority=9)
    served = Counter(line.serve_levels(5_000))
    assert served[9] > 10 * served[5]
    assert served[5] > 100


def test_missed_ones_stand_behind_those_on_time() -> None:
    line = Line()
    line.enqueue("t", 1_000, key="missed", missed=True)
    line.serve(1)
    line.enqueue("t", 50, key="on time")
    assert line.serve(60).count("ton time") >= 45


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.integers(1, 50), st.sampled_from(PRIORITIES), st.booleans()),
        min_size=1,
        max_size=60,
    ),
    st.integers(1, 40),
)
def test_nothing_starves(arrivals: list[tuple[str, int, int, bool]], served: int) -> None:
    """However important what comes later is, a waiting run's turn comes: what stands before it only gets less in the end."""
    line = Line()
    line.enqueue("waits", 1, priority=0, missed=True)
    for tenant, runs, priority, missed in arrivals * 40:
        line.enqueue(tenant, runs, priority=priority, missed=missed)
        if "waits" in line.serve(runs + served):
            return
    assert "waits" in line.serve(1_000_000)[: 200 * len(arrivals)]
