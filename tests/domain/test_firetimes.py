"""From a schedule to its instants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.firetimes import compile_schedule
from dueline.domain.localtime import DstGap
from dueline.domain.schedule import At, Cron, Every, Schedule

START_MS = 1_767_225_600_000
moments = st.integers(0, 4_102_444_800_000)
periods = st.integers(limits.EVERY_MS_MIN, limits.EVERY_MS_MAX)


@pytest.mark.parametrize(
    ("schedule", "one_time"), [(At(START_MS), True), (Every(1_000, START_MS), False), (Cron("* * * * *"), False)]
)
def test_only_a_fixed_instant_is_one_time(schedule: Schedule, one_time: bool) -> None:
    assert compile_schedule(schedule).one_time is one_time


def test_an_instant_comes_once() -> None:
    times = compile_schedule(At(START_MS))
    assert times.next_after(0) == START_MS
    assert times.next_after(START_MS - 1) == START_MS
    assert times.next_after(START_MS) is None
    assert times.next_after(START_MS + 1) is None


@given(periods, moments, moments)
def test_a_rate_is_kept_to_the_millisecond_from_its_anchor_on(period_ms: int, anchor_ms: int, at_ms: int) -> None:
    next_ms = compile_schedule(Every(period_ms, anchor_ms)).next_after(at_ms)
    assert next_ms is not None
    assert next_ms > at_ms
    assert next_ms >= anchor_ms
    assert (next_ms - anchor_ms) % period_ms == 0
    assert next_ms == anchor_ms or next_ms - period_ms <= at_ms


@pytest.mark.parametrize(
    ("at_ms", "next_ms"),
    [
        (START_MS - 3_600_000, START_MS),
        (START_MS - 1, START_MS),
        (START_MS, START_MS + 7_000),
        (START_MS + 6_999, START_MS + 7_000),
        (START_MS + 7_000, START_MS + 14_000),
    ],
)
def test_a_rate_begins_with_its_anchor(at_ms: int, next_ms: int) -> None:
    assert compile_schedule(Every(7_000, START_MS)).next_after(at_ms) == next_ms


def test_a_rate_does_not_care_for_changes_of_the_clocks() -> None:
    # X9: a day is 24 hours, also over the night of 29 March 2026 in Berlin.
    anchor_ms = 1_774_652_400_000
    times, at_ms = compile_schedule(Every(86_400_000, anchor_ms)), anchor_ms
    for number in range(1, 5):
        next_ms = times.next_after(at_ms)
        assert next_ms == anchor_ms + number * 86_400_000
        at_ms = next_ms


@given(moments)
def test_cron_answers_in_whole_seconds_strictly_later_than_any_millisecond(at_ms: int) -> None:
    next_ms = compile_schedule(Cron("*/5 * * * * *", "Europe/Berlin")).next_after(at_ms)
    assert next_ms == (at_ms // 5_000 + 1) * 5_000


def test_cron_follows_the_zone_of_its_schedule() -> None:
    assert compile_schedule(Cron("0 0 * * *", "Asia/Tokyo")).next_after(START_MS) == START_MS + 15 * 3_600_000
    assert compile_schedule(Cron("0 0 * * *")).next_after(START_MS) == START_MS + 24 * 3_600_000


def test_cron_follows_the_policies_and_the_hash_of_its_schedule() -> None:
    # 2026-03-29 02:30 does not exist in Berlin.
    before_ms = 1_774_738_800_000
    found = {
        gap: compile_schedule(Cron("H 2 * * *", "Europe/Berlin", gap, hashed="30 2 * * *")).next_after(before_ms)
        for gap in DstGap
    }
    assert found == {
        DstGap.RUN_AFTER: before_ms + 2 * 3_600_000,
        DstGap.SKIP: before_ms + 25 * 3_600_000 + 1_800_000,
        DstGap.RUN_BEFORE: before_ms + 5_400_000,
    }
