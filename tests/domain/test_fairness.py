"""Whose turn it is: shares by weight, priorities without starvation, quiet ones in front."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.job import PRIORITIES
from tests.support.lines import Line


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


@pytest.mark.parametrize("weight", [0.0, 1e-9, 1 / 4096])
def test_the_smallest_weight_gets_a_little(weight: float) -> None:
    line = Line(small=weight)
    line.enqueue("small", 10)
    line.enqueue("large", 20_000)
    assert line.serve(12_500).count("small") == 4


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


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("keys", [2, 100, 999, 1_001, 5_000])
def test_a_key_for_every_run_is_worth_no_more_than_no_keys(keys: int, together: bool) -> None:
    line = Line()
    line.enqueue("plain", 10_000)
    line.serve(100)
    each = [str(number) for number in range(keys)]
    if together:
        line.enqueue_keys("clever", each)
    else:
        for key in each:
            line.enqueue("clever", 1, key=key)
    served = ["plain" if one == "plain" else "clever" for one in line.serve(2 * keys)]
    for end in range(50, 2 * keys, 50):
        assert abs(served[:end].count("clever") - end / 2) <= 3


def test_backlogs_of_keys_that_come_one_after_the_other_get_one_share_in_all() -> None:
    """The first ones get more at the beginning, when nobody knows of the others; the last ones pay for it."""
    line = Line()
    line.enqueue("plain", 10_000)
    for key in "abcd":
        line.enqueue("clever", 500, key=key)
    served = line.serve(4_000)
    assert abs(served.count("plain") - 2_000) <= 3
    assert served[:200].count("plain") >= 200 / (1 + 1 + 1 / 2 + 1 / 3 + 1 / 4) - 3


@pytest.mark.parametrize("noisy", [1, 100])
def test_a_quiet_key_has_its_turn_beside_noisy_ones(noisy: int) -> None:
    line = Line()
    line.enqueue_keys("t", [str(key) for key in range(noisy)] * 1_000)
    line.serve(500)
    line.enqueue("t", 1, key="quiet")
    assert "tquiet" in line.serve(2 * (noisy + 1))


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
