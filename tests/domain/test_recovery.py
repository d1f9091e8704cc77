"""The pace at which missed runs start."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.recovery import Pace


def test_the_first_starts_now_and_the_others_one_gap_apart() -> None:
    pace = Pace(4.0)
    assert [pace.next_ms(1_000) for _ in range(4)] == [1_000, 1_250, 1_500, 1_750]


def test_time_that_passes_unused_is_not_saved_up() -> None:
    pace = Pace(1.0)
    assert pace.next_ms(0) == 0
    assert [pace.next_ms(10_000) for _ in range(3)] == [10_000, 11_000, 12_000]


def test_what_was_given_before_is_still_taken() -> None:
    pace = Pace(1.0)
    assert [pace.next_ms(0), pace.next_ms(0), pace.next_ms(500)] == [0, 1_000, 2_000]


@pytest.mark.parametrize(("rate", "count"), [(3.0, 30), (0.5, 5), (1_000.0, 10_000), (7.0, 70)])
def test_the_rate_is_kept_without_drift(rate: float, count: int) -> None:
    pace = Pace(rate)
    times = [pace.next_ms(0) for _ in range(count + 1)]
    assert abs(times[-1] - 10_000) <= 1


@given(rate=st.floats(0.01, 1_000), moments=st.lists(st.integers(0, 100_000), min_size=1, max_size=50).map(sorted))
def test_never_early_never_closer_than_the_gap(rate: float, moments: list[int]) -> None:
    pace = Pace(rate)
    given_ms = [pace.next_ms(now_ms) for now_ms in moments]
    assert all(at_ms >= now_ms for at_ms, now_ms in zip(given_ms, moments, strict=True))
    gaps = [after - before for before, after in pairwise(given_ms)]
    assert all(gap_ms >= 1000 / rate - 1 for gap_ms in gaps)
