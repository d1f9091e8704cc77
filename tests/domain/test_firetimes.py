"""From a schedule to its instants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.calendars import Calendar
from dueline.domain.firetimes import compile_schedule
from dueline.domain.localtime import DstGap
from dueline.domain.schedule import After, At, Cron, Every, Schedule

START_MS = 1_767_225_600_000
moments = st.integers(0, 4_102_444_800_000)
periods = st.integers(limits.EVERY_MS_MIN, limits.EVERY_MS_MAX)


@pytest.mark.parametrize(
    ("schedule", "single", "follows"),
    [(At(START_MS), True, False), (Every(1_000, START_MS), False, False), (Cron("* * * * *"), False, False)],
)
@pytest.mark.parametrize("calendars", [(), (Calendar(weekdays=(5,)),)])
def test_of_an_instant_and_of_a_delay_one_occurrence_is_known_at_a_time(
    schedule: Schedule, single: bool, follows: bool, calendars: tuple[Calendar, ...]
) -> None:
    times = compile_schedule(schedule, calendars)
    assert (times.single, times.follows, times.marked) == (single, follows, bool(calendars))


def test_a_delay_is_kept_off_no_day() -> None:
    times = compile_schedule(After(1_000, START_MS), (Calendar(weekdays=tuple(range(7))),))
    assert (times.single, times.follows, times.marked) == (True, True, False)


@pytest.mark.parametrize("schedule", [At(START_MS), Every(7_000, START_MS), Cron("0 9 * * *")])
def test_without_shapes_every_occurrence_fires(schedule: Schedule) -> None:
    times = compile_schedule(schedule)
    assert times.next_after(START_MS - 1) == times.next_fire_after(START_MS - 1)
    assert (times.skip_reason(START_MS), times.end_ms) == (None, None)


def test_of_a_delay_only_the_first_occurrence_is_known() -> None:
    times = compile_schedule(After(60_000, START_MS))
    assert (times.next_after(0), times.next_after(START_MS - 1)) == (START_MS, START_MS)
    assert times.next_after(START_MS) is None


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
    next_ms = compile_schedule(Cron("*/5 * * * * *", timezone="Europe/Berlin")).next_after(at_ms)
    assert next_ms == (at_ms // 5_000 + 1) * 5_000


def test_cron_follows_the_zone_of_its_schedule() -> None:
    assert compile_schedule(Cron("0 0 * * *", timezone="Asia/Tokyo")).next_after(START_MS) == START_MS + 15 * 3_600_000
    assert compile_schedule(Cron("0 0 * * *")).next_after(START_MS) == START_MS + 24 * 3_600_000


def test_cron_follows_the_policies_and_the_hash_of_its_schedule() -> None:
    # 2026-03-29 02:30 does not exist in Berlin.
    before_ms = 1_774_738_800_000
    found = {
        gap: compile_schedule(Cron("H 2 * * *", gap, timezone="Europe/Berlin", hashed="30 2 * * *")).next_after(
            before_ms
        )
        for gap in DstGap
    }
    assert found == {
        DstGap.RUN_AFTER: before_ms + 2 * 3_600_000,
        DstGap.SKIP: before_ms + 25 * 3_600_000 + 1_800_000,
        DstGap.RUN_BEFORE: before_ms + 5_400_000,
    }
