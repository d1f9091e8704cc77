"""Crowds: what is counted, and when pages of them are written."""

from itertools import pairwise

import pytest

from dueline.domain import limits
from dueline.domain.crowds import Crowds, ready_ahead_ms

NOW_MS = 1_767_225_600_000
FAR_MS = NOW_MS + limits.CROWD_AHEAD_MS
PAGE = limits.FIRE_BATCH // 2
AGAIN_MS = 8_000


def seeing(*crowds: tuple[int, int], now_ms: int = NOW_MS) -> Crowds:
    """A scheduler that has counted these, each so many milliseconds away."""
    seen = Crowds()
    span = seen.uncounted(now_ms)
    assert span is not None
    seen.counted(*span, {now_ms + away_ms: count for away_ms, count in crowds})
    return seen


def pages(crowds: Crowds, *, from_ms: int = NOW_MS, until_ms: int = FAR_MS, left_out: int = 0) -> list[tuple[int, int]]:
    """When pages are written, and of which second, by a scheduler that is always there."""
    written = []
    now_ms = from_ms
    while now_ms < until_ms and (turn := crowds.next(now_ms)) is not None:
        crowd, turn_ms = turn
        if turn_ms <= now_ms:
            written.append((now_ms, crowd.at_ms))
            crowds.written(crowd, now_ms=now_ms, written=min(PAGE, crowd.left), left_out=left_out)
            if crowd.left <= 1:
                crowds.written(crowd, now_ms=now_ms, written=0, left_out=left_out)
        now_ms += 1
    return written


def test_every_second_is_counted_in_sight_and_near_and_none_that_is_due_soon() -> None:
    crowds = Crowds()
    counted: list[int] = []
    questions = 0
    for now_ms in range(NOW_MS, NOW_MS + 30_000, 70):
        span = crowds.uncounted(now_ms)
        if span is not None:
            since_ms, until_ms = span
            assert (since_ms % 1_000, until_ms % 1_000) == (0, 0)
            assert since_ms > now_ms + limits.AHEAD_MS
            assert until_ms > now_ms + AGAIN_MS
            counted += range(since_ms, until_ms, 1_000)
            crowds.counted(since_ms, until_ms, {})
            questions += 1
        assert max(counted) > now_ms + limits.CROWD_AHEAD_MS - 3_000
    seen = range(NOW_MS + 2_000, NOW_MS + 48_000, 1_000)
    near = range(NOW_MS + 9_000, NOW_MS + 36_000, 1_000)
    assert sorted(counted) == sorted([*seen, *near])
    assert questions == 10 + 9


def test_a_crowd_that_comes_late_is_seen_when_it_is_near() -> None:
    crowds = seeing()
    at_ms = NOW_MS + 12_000
    assert crowds.next(NOW_MS) is None
    for now_ms in range(NOW_MS, at_ms, 70):
        while (span := crowds.uncounted(now_ms)) is not None:
            crowds.counted(*span, {at_ms: 9_000} if span[0] <= at_ms < span[1] else {})
        if (turn := crowds.next(now_ms)) is not None:
            assert turn[0].at_ms == at_ms
            assert now_ms >= at_ms - AGAIN_MS - 1_000
            return
    pytest.fail("it was never seen")


def test_what_is_counted_again_is_what_is_left() -> None:
    crowds = seeing((10_000, 9_000))
    turn = crowds.next(NOW_MS)
    assert turn is not None
    now_ms = NOW_MS + 6_000
    far = crowds.uncounted(now_ms)
    assert far is not None
    crowds.counted(*far, {})
    near = crowds.uncounted(now_ms)
    assert near == (NOW_MS + 9_000, NOW_MS + 15_000)
    crowds.counted(*near, {NOW_MS + 10_000: 4_000})
    again = crowds.next(now_ms)
    assert again is not None
    assert again[0] is turn[0]
    assert (turn[0].count, turn[0].left) == (9_000, 4_000)


def test_after_a_pause_it_counts_what_is_still_worth_it() -> None:
    crowds = Crowds()
    crowds.counted(NOW_MS + 2_000, NOW_MS + 21_000, {NOW_MS + 9_000: 9_000})
    later_ms = NOW_MS + 60_000
    assert crowds.uncounted(later_ms) == (later_ms + 2_000, later_ms + 21_000)
    assert crowds.next(later_ms) is None


def test_what_is_not_seen_any_more_is_counted_again() -> None:
    crowds = seeing((9_000, 9_000))
    assert crowds.uncounted(NOW_MS) is None
    crowds.forget()
    assert crowds.next(NOW_MS) is None
    assert crowds.uncounted(NOW_MS) == (NOW_MS + 2_000, NOW_MS + 21_000)


def test_a_crowd_is_spread_evenly_over_the_seconds_before_it_is_made_ready() -> None:
    count = 100 * PAGE
    times_ms = [at_ms for at_ms, _ in pages(seeing((15_000, count)))]
    assert len(times_ms) == 100
    there_ms = 15_000 - ready_ahead_ms(count)
    assert times_ms[-1] <= NOW_MS + there_ms
    gaps_ms = [later - earlier for earlier, later in pairwise(times_ms)]
    assert min(gaps_ms) >= 0.95 * there_ms / 100
    assert max(gaps_ms) <= 1.05 * there_ms / 100


@pytest.mark.parametrize(
    ("count", "ahead_ms"),
    [(0, 1_000), (20_000, 2_000), (100_000, 6_000), (100_001, 6_000), (10_000_000, 6_000)],
)
def test_the_more_there_are_the_earlier_they_are_made_ready(count: int, ahead_ms: int) -> None:
    assert ready_ahead_ms(count) == ahead_ms


def test_it_hurries_for_a_crowd_that_comes_behind_another() -> None:
    written = pages(seeing((14_000, 10 * PAGE), (15_000, 130 * PAGE)))
    by_second = {at_ms: [when for when, of in written if of == at_ms] for _, at_ms in written}
    assert [len(by_second[NOW_MS + away_ms]) for away_ms in (14_000, 15_000)] == [10, 130]
    assert by_second[NOW_MS + 14_000][-1] <= NOW_MS + 1_100, "at the pace that all of them need"
    assert written[-1][0] <= NOW_MS + 14_000


@pytest.mark.parametrize(("away_ms", "is_left"), [(limits.AHEAD_MS, False), (limits.AHEAD_MS + 1, True)])
def test_what_is_due_soon_is_no_crowd_any_more(away_ms: int, is_left: bool) -> None:
    crowds = seeing((2_000, 9_000))
    assert (crowds.next(NOW_MS + 2_000 - away_ms) is not None) is is_left


def test_a_crowd_of_which_nothing_may_be_written_is_left_to_its_time() -> None:
    crowds = seeing((9_000, 9_000))
    turn = crowds.next(NOW_MS)
    assert turn is not None
    crowds.written(turn[0], now_ms=NOW_MS, written=10, left_out=990)
    assert turn[0].left_out == 990, "they are asked past"
    crowds.written(turn[0], now_ms=NOW_MS, written=0, left_out=1_990)
    assert crowds.next(NOW_MS) is None


def test_where_every_second_is_full_none_is_a_crowd() -> None:
    crowds = seeing(*((away_ms, 10_000) for away_ms in range(2_000, 21_000, 1_000)))
    assert crowds.next(NOW_MS) is None
    for now_ms in range(NOW_MS + 3_000, NOW_MS + 21_000, 3_000):
        span = crowds.uncounted(now_ms)
        assert span is not None
        crowds.counted(*span, dict.fromkeys(range(*span, 1_000), 11_000))
        assert crowds.next(now_ms) is None


def test_jobs_of_every_few_seconds_are_no_crowd_though_none_of_them_is_in_sight() -> None:
    crowds = seeing(*((away_ms, 10_000) for away_ms in range(2_000, 11_000, 1_000)))
    assert crowds.next(NOW_MS) is None
    for now_ms in range(NOW_MS + 3_000, NOW_MS + 60_000, 3_000):
        while (span := crowds.uncounted(now_ms)) is not None:
            seen = range(span[0], min(span[1], now_ms + 10_000), 1_000)
            crowds.counted(*span, dict.fromkeys(seen, 10_000))
        assert crowds.next(now_ms) is None


@pytest.mark.parametrize(("count", "is_crowd"), [(20_000, True), (19_999, False)])
def test_a_peak_above_what_jobs_of_every_few_seconds_bring_is_a_crowd(count: int, is_crowd: bool) -> None:
    usual = [(away_ms, 10_000) for away_ms in range(2_000, 11_000, 1_000)]
    assert (seeing(*usual, (18_000, count)).next(NOW_MS) is not None) is is_crowd


def test_a_peak_above_what_is_usual_is_a_crowd() -> None:
    usual = [(away_ms, 10_000) for away_ms in range(2_000, 15_000, 1_000)]
    assert seeing(*usual, (15_000, 20_000)).next(NOW_MS) is not None
    assert seeing(*usual, (15_000, 19_999)).next(NOW_MS) is None


def test_the_first_of_many_full_seconds_is_no_crowd_once_the_others_are_in_sight() -> None:
    crowds = seeing((14_000, 10_000))
    assert crowds.next(NOW_MS) is not None
    for second in range(3, 15, 3):
        span = crowds.uncounted(NOW_MS + second * 1_000)
        assert span is not None
        crowds.counted(*span, dict.fromkeys(range(*span, 1_000), 10_000))
    assert crowds.next(NOW_MS + 12_000) is None
