"""Shaped streams, walked: they go forth, they say the same in every way of asking, and they hold what an obvious search finds."""

from datetime import timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from dueline.domain.calendars import Calendar
from dueline.domain.firetimes import compile_schedule
from dueline.domain.instants import from_datetime, to_datetime
from dueline.domain.ledger import SkipReason
from dueline.domain.schedule import At, Every, OnExcluded, Schedule
from tests.domain.shaped import DAY_MS, HOUR_MS, NIGHT_MS, calendars, moments, schedules

FROM_MS, TO_MS = NIGHT_MS - 6 * DAY_MS, NIGHT_MS + 6 * DAY_MS
STEPS_MAX = 5_000


def walk(schedule: Schedule, named: tuple[Calendar, ...]) -> dict[int, SkipReason | None]:
    times, found = compile_schedule(schedule, named), dict[int, SkipReason | None]()
    at_ms = times.next_after(FROM_MS)
    while at_ms is not None and at_ms < TO_MS:
        found[at_ms] = times.skip_reason(at_ms)
        next_ms = times.next_after(at_ms)
        assert next_ms is None or next_ms > at_ms
        at_ms = next_ms
        assert len(found) < STEPS_MAX
    return found


@given(schedules(), moments)
def test_the_next_is_the_first_of_the_walk_wherever_it_is_asked_for(
    shaped: tuple[Schedule, tuple[Calendar, ...]], at_ms: int
) -> None:
    schedule, named = shaped
    times, walked = compile_schedule(schedule, named), walk(schedule, named)
    later = [found_ms for found_ms in walked if found_ms > at_ms]
    assert _within(times.next_after(at_ms)) == next(iter(later), None)
    firing = [found_ms for found_ms in later if walked[found_ms] is None]
    assert _within(times.next_fire_after(at_ms)) == next(iter(firing), None)


def _within(at_ms: int | None) -> int | None:
    return None if at_ms is None or at_ms >= TO_MS else at_ms


@given(schedules())
def test_every_reason_is_true(shaped: tuple[Schedule, tuple[Calendar, ...]]) -> None:
    schedule, named = shaped
    gone = {change.at_ms: change for change in schedule.changed}
    added = {change.moved_to_ms for change in schedule.changed}
    for at_ms, reason in walk(schedule, named).items():
        day = to_datetime(at_ms).astimezone(ZoneInfo(schedule.timezone)).toordinal()
        match reason:
            case None:
                excluded = any(calendar.excludes(day) for calendar in named)
                assert at_ms in added or (at_ms not in gone and not excluded)
            case SkipReason.CALENDAR:
                assert any(calendar.excludes(day) for calendar in named)
            case SkipReason.REQUESTED:
                assert gone[at_ms].moved_to_ms is None
            case _:
                assert reason is SkipReason.MOVED
                assert gone[at_ms].moved_to_ms is not None


@given(schedules())
def test_nothing_that_a_schedule_says_of_itself_lies_outside_of_its_bounds(
    shaped: tuple[Schedule, tuple[Calendar, ...]],
) -> None:
    schedule, named = shaped
    added = {change.moved_to_ms for change in schedule.changed}
    for at_ms in walk(schedule, named).keys() - added:
        assert schedule.start_ms is None or at_ms >= schedule.start_ms
        assert schedule.end_ms is None or at_ms <= schedule.end_ms


def moved_by_hand(at_ms: int, calendar: Calendar, zone: ZoneInfo, step: int) -> int:
    """The obvious way: day by day, until one is free."""
    wall = to_datetime(at_ms).astimezone(zone)
    while calendar.excludes(wall.toordinal()):
        wall += timedelta(days=step)
    return from_datetime(wall)


@given(
    calendars.filter(lambda calendar: len(calendar.weekdays) < 7),
    st.sampled_from([OnExcluded.BEFORE, OnExcluded.AFTER]),
    st.integers(NIGHT_MS - 4 * DAY_MS, NIGHT_MS + 4 * DAY_MS),
)
def test_a_single_occurrence_comes_on_the_day_that_an_obvious_search_finds(
    calendar: Calendar, on_excluded: OnExcluded, at_ms: int
) -> None:
    # In a zone without changes of the clocks within those days.
    tokyo = "Asia/Tokyo"
    times = compile_schedule(At(at_ms, timezone=tokyo, on_excluded=on_excluded), (calendar,))
    step = 1 if on_excluded is OnExcluded.AFTER else -1
    expected = moved_by_hand(at_ms, calendar, ZoneInfo(tokyo), step)
    assert times.next_fire_after(NIGHT_MS - 60 * DAY_MS) == expected
    assert times.next_fire_after(expected) is None


@given(calendars.filter(lambda calendar: len(calendar.weekdays) < 7), st.sampled_from(OnExcluded))
def test_a_dense_schedule_fires_at_the_same_times_of_free_days_however_it_treats_excluded_ones(
    calendar: Calendar, on_excluded: OnExcluded
) -> None:
    skipping = walk(Every(HOUR_MS, NIGHT_MS - 90 * DAY_MS, calendars=("c",)), (calendar,))
    moving = walk(Every(HOUR_MS, NIGHT_MS - 90 * DAY_MS, calendars=("c",), on_excluded=on_excluded), (calendar,))
    assert moving == skipping
