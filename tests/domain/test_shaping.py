"""What shapes a stream of occurrences: bounds, excluded days, and single occurrences left out or moved."""

from datetime import date, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from dueline.domain import limits
from dueline.domain.calendars import Calendar
from dueline.domain.firetimes import FireTimes, compile_schedule
from dueline.domain.instants import from_datetime
from dueline.domain.ledger import SkipReason
from dueline.domain.schedule import After, At, ChangedOccurrence, Cron, Every, OnExcluded, Schedule

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
WEEKENDS = Calendar(weekdays=(5, 6))
CALENDAR, REQUESTED, MOVED = SkipReason.CALENDAR, SkipReason.REQUESTED, SkipReason.MOVED
BEFORE, AFTER = OnExcluded.BEFORE, OnExcluded.AFTER


def ms(text: str, zone: str = "UTC") -> int:
    """`2026-03-29 09:30` on the wall clock of a zone."""
    return from_datetime(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)))


def days(first: str, last: str | None = None) -> Calendar:
    """A calendar of one block of days, both included."""
    ordinals = [date.fromisoformat(day).toordinal() for day in (first, last or first)]
    return Calendar(ranges=((ordinals[0], ordinals[1]),))


def walk(times: FireTimes, from_ms: int, to_ms: int) -> dict[int, SkipReason | None]:
    """Every occurrence from one instant to before another, with the reason why it does not fire."""
    found: dict[int, SkipReason | None] = {}
    at_ms = times.next_after(from_ms - 1)
    while at_ms is not None and at_ms < to_ms:
        assert at_ms not in found
        found[at_ms] = times.skip_reason(at_ms)
        at_ms = times.next_after(at_ms)
    return found


def fires(schedule: Schedule, *calendars: Calendar, since: str, until: str, zone: str = "UTC") -> list[str]:
    """What fires in a span, on the wall clock of a zone; walking and looking for the next that fires say the same."""
    times = compile_schedule(schedule, calendars)
    since_ms, until_ms = ms(since, zone), ms(until, zone)
    walked = [at_ms for at_ms, reason in walk(times, since_ms, until_ms).items() if reason is None]
    looked = []
    at_ms = times.next_fire_after(since_ms - 1)
    while at_ms is not None and at_ms < until_ms:
        looked.append(at_ms)
        at_ms = times.next_fire_after(at_ms)
    assert looked == walked
    return [datetime.fromtimestamp(at_ms / 1000, ZoneInfo(zone)).strftime("%m-%d %H:%M") for at_ms in looked]


NOON_MS = ms("2026-03-02 12:00")


def test_both_bounds_belong_to_a_schedule() -> None:
    times = compile_schedule(Every(MINUTE_MS, 0, start_ms=NOON_MS, end_ms=NOON_MS + MINUTE_MS))
    assert list(walk(times, 0, NOON_MS + HOUR_MS)) == [NOON_MS, NOON_MS + MINUTE_MS]
    assert times.next_after(NOON_MS - 1) == NOON_MS
    assert times.next_after(NOON_MS + MINUTE_MS) is None


def test_a_millisecond_outside_of_a_bound_is_outside() -> None:
    times = compile_schedule(Every(MINUTE_MS, 0, start_ms=NOON_MS + 1, end_ms=NOON_MS + 2 * MINUTE_MS - 1))
    assert list(walk(times, 0, NOON_MS + HOUR_MS)) == [NOON_MS + MINUTE_MS]


def test_a_bound_does_not_shift_the_rate() -> None:
    times = compile_schedule(Every(7_000, NOON_MS, start_ms=NOON_MS + 10_000))
    assert times.next_after(0) == NOON_MS + 14_000


@pytest.mark.parametrize(
    ("start_ms", "end_ms", "comes"),
    [
        (None, NOON_MS, True),
        (None, NOON_MS - 1, False),
        (NOON_MS, None, True),
        (NOON_MS + 1, None, False),
        (NOON_MS, NOON_MS, True),
    ],
)
def test_a_single_occurrence_outside_of_the_bounds_never_comes(
    start_ms: int | None, end_ms: int | None, comes: bool
) -> None:
    for schedule in (
        At(NOON_MS, start_ms=start_ms, end_ms=end_ms),
        After(1, NOON_MS, start_ms=start_ms, end_ms=end_ms),
    ):
        assert compile_schedule(schedule).next_after(0) == (NOON_MS if comes else None)


def test_cron_between_bounds() -> None:
    daily = Cron("0 9 * * *", start_ms=ms("2026-03-02 09:00"), end_ms=ms("2026-03-04 08:59"))
    assert fires(daily, since="2026-02-01", until="2026-04-01") == ["03-02 09:00", "03-03 09:00"]


def test_an_excluded_occurrence_stays_in_the_stream_and_does_not_fire() -> None:
    # The 6th of March 2026 is a Friday.
    times = compile_schedule(Cron("0 9 * * *"), (WEEKENDS,))
    assert walk(times, ms("2026-03-06"), ms("2026-03-10")) == {
        ms("2026-03-06 09:00"): None,
        ms("2026-03-07 09:00"): CALENDAR,
        ms("2026-03-08 09:00"): CALENDAR,
        ms("2026-03-09 09:00"): None,
    }


def test_the_first_and_the_last_millisecond_of_a_day_are_excluded_with_it() -> None:
    times = compile_schedule(Every(1, 0), (days("2026-03-07"),))
    midnight_ms = ms("2026-03-07")
    for at_ms, reason in ((-1, None), (0, CALENDAR), (DAY_MS - 1, CALENDAR), (DAY_MS, None)):
        assert times.skip_reason(midnight_ms + at_ms) is reason
    assert times.next_fire_after(midnight_ms - 1) == midnight_ms + DAY_MS


def test_days_are_those_of_the_schedules_zone() -> None:
    # At 20:00 UTC the Saturday has begun in Tokyo.
    tokyo = compile_schedule(Every(HOUR_MS, 0, timezone="Asia/Tokyo"), (WEEKENDS,))
    assert tokyo.next_fire_after(ms("2026-03-06 14:00")) == ms("2026-03-08 15:00")
    assert compile_schedule(Every(HOUR_MS, 0), (WEEKENDS,)).next_fire_after(ms("2026-03-06 14:00")) == ms(
        "2026-03-06 15:00"
    )


def test_a_day_is_excluded_if_any_of_the_calendars_does() -> None:
    holiday = days("2026-03-09")
    found = fires(Cron("0 9 * * *"), WEEKENDS, holiday, since="2026-03-05", until="2026-03-11")
    assert found == ["03-05 09:00", "03-06 09:00", "03-10 09:00"]


@pytest.mark.parametrize(
    ("on_excluded", "found"),
    [
        (OnExcluded.SKIP, []),
        (BEFORE, ["03-31 09:00"]),
        (AFTER, ["04-07 09:00"]),
    ],
)
def test_an_occurrence_moves_over_a_block_of_days_and_the_end_of_a_month(
    on_excluded: OnExcluded, found: list[str]
) -> None:
    # From Wednesday 1 April to Easter Monday.
    monthly = Cron("0 9 3 * *", on_excluded=on_excluded)
    assert fires(monthly, days("2026-04-01", "2026-04-06"), since="2026-03-10", until="2026-04-30") == found


def test_weekends_and_holidays_make_one_block() -> None:
    easter = (WEEKENDS, days("2026-04-03"), days("2026-04-06"))
    weekly = Cron("0 9 * * SUN", on_excluded=BEFORE)
    assert fires(weekly, *easter, since="2026-03-25", until="2026-04-15") == [
        "03-27 09:00",
        "04-02 09:00",
        "04-10 09:00",
    ]
    weekly = Cron("0 9 * * SUN", on_excluded=AFTER)
    assert fires(weekly, *easter, since="2026-03-25", until="2026-04-15") == [
        "03-30 09:00",
        "04-07 09:00",
        "04-13 09:00",
    ]


@pytest.mark.parametrize("on_excluded", [BEFORE, AFTER])
def test_an_occurrence_that_is_moved_onto_another_is_one_with_it(on_excluded: OnExcluded) -> None:
    daily = Cron("0 9 * * *", on_excluded=on_excluded)
    assert fires(daily, WEEKENDS, since="2026-03-05", until="2026-03-11") == [
        f"03-{day} 09:00" for day in ("05", "06", "09", "10")
    ]


@pytest.mark.parametrize(("on_excluded", "day"), [(BEFORE, "06"), (AFTER, "09")])
def test_two_occurrences_of_a_block_at_one_wall_time_become_one(on_excluded: OnExcluded, day: str) -> None:
    on_weekends = Cron("0 9 * * SAT,SUN", on_excluded=on_excluded)
    assert fires(on_weekends, WEEKENDS, since="2026-03-04", until="2026-03-11") == [f"03-{day} 09:00"]


@pytest.mark.parametrize(("on_excluded", "day"), [(BEFORE, "06"), (AFTER, "09")])
def test_occurrences_of_a_block_keep_their_wall_times(on_excluded: OnExcluded, day: str) -> None:
    schedule = Cron("30 8,20 * * SAT", on_excluded=on_excluded)
    found = fires(schedule, WEEKENDS, since="2026-03-04", until="2026-03-11")
    assert found == [f"03-{day} 08:30", f"03-{day} 20:30"]


def test_a_moved_occurrence_keeps_its_milliseconds() -> None:
    saturday_ms = ms("2026-03-07 09:00") + 123
    times = compile_schedule(Every(7 * DAY_MS, saturday_ms, on_excluded=AFTER), (WEEKENDS,))
    assert times.next_fire_after(saturday_ms - 1) == saturday_ms + 2 * DAY_MS


BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("on_excluded", "found"),
    [
        # Sunday 29 March has no 02:30; the wall time is kept, not the hours between.
        (BEFORE, ["03-27 02:30", "04-03 02:30"]),
        (AFTER, ["03-30 02:30", "04-06 02:30"]),
    ],
)
def test_a_wall_time_is_kept_over_a_change_of_the_clocks(on_excluded: OnExcluded, found: list[str]) -> None:
    weekly = Cron("30 2 * * SAT", timezone=BERLIN, on_excluded=on_excluded)
    assert fires(weekly, WEEKENDS, since="2026-03-25", until="2026-04-08", zone=BERLIN) == found


@pytest.mark.parametrize(
    ("saturday", "sunday", "found"),
    [
        # In the night of 29 March 02:30 does not exist, in that of 25 October it comes twice.
        ("2026-03-28", "2026-03-29", "03-29 03:00"),
        ("2026-10-24", "2026-10-25", "10-25 02:30"),
    ],
)
def test_an_occurrence_may_be_moved_into_the_night_on_which_clocks_change(
    saturday: str, sunday: str, found: str
) -> None:
    on_saturdays = Cron("30 2 * * SAT", timezone=BERLIN, on_excluded=AFTER)
    times = compile_schedule(on_saturdays, (days(saturday),))
    moved_ms = times.next_fire_after(ms(f"{saturday} 00:00", BERLIN))
    assert moved_ms is not None
    assert datetime.fromtimestamp(moved_ms / 1000, ZoneInfo(BERLIN)).strftime("%m-%d %H:%M") == found
    assert ms(f"{sunday} 00:00", BERLIN) < moved_ms < ms(f"{sunday} 03:30", BERLIN)


@pytest.mark.parametrize("night", ["2026-03-29", "2026-10-25"])
def test_a_day_of_another_length_is_excluded_from_midnight_to_midnight(night: str) -> None:
    times = compile_schedule(Every(MINUTE_MS, 0, timezone=BERLIN), (days(night),))
    midnight_ms = ms(f"{night} 00:00", BERLIN)
    following_ms = ms(date.fromordinal(date.fromisoformat(night).toordinal() + 1).isoformat() + " 00:00", BERLIN)
    assert (following_ms - midnight_ms) != DAY_MS
    found = walk(times, midnight_ms - 5 * MINUTE_MS, following_ms + 5 * MINUTE_MS)
    assert {at_ms for at_ms, reason in found.items() if reason} == set(range(midnight_ms, following_ms, MINUTE_MS))
    assert times.next_fire_after(midnight_ms - 1) == following_ms


def test_a_day_that_begins_at_one_is_excluded_from_there() -> None:
    # In Cairo the clocks go from 23:59 on Thursday to 01:00 on Friday 24 April 2026.
    cairo = "Africa/Cairo"
    times = compile_schedule(Every(MINUTE_MS, 0, timezone=cairo), (days("2026-04-24"),))
    last_ms = ms("2026-04-23 23:59", cairo)
    assert times.next_fire_after(last_ms - 1) == last_ms
    assert times.skip_reason(last_ms + MINUTE_MS) is CALENDAR
    assert times.next_fire_after(last_ms) == ms("2026-04-25 00:00", cairo)


def test_what_would_move_behind_the_end_does_not_come() -> None:
    friday = Cron("0 9 7 3 *", on_excluded=AFTER, end_ms=ms("2026-03-08"))
    assert fires(friday, WEEKENDS, since="2026-01-01", until="2026-12-31") == []
    edge = Cron("0 9 7 3 *", on_excluded=AFTER, end_ms=ms("2026-03-09 09:00"))
    assert fires(edge, WEEKENDS, since="2026-01-01", until="2026-12-31") == ["03-09 09:00"]


def test_what_would_move_before_the_start_does_not_come() -> None:
    saturday = Cron("0 9 7 3 *", on_excluded=BEFORE, start_ms=ms("2026-03-06 09:01"))
    assert fires(saturday, WEEKENDS, since="2026-01-01", until="2026-12-31") == []
    edge = Cron("0 9 7 3 *", on_excluded=BEFORE, start_ms=ms("2026-03-06 09:00"))
    assert fires(edge, WEEKENDS, since="2026-01-01", until="2026-12-31") == ["03-06 09:00"]


def test_nothing_is_moved_from_behind_the_end() -> None:
    # The Saturday itself lies behind the end, so there is nothing to bring forward.
    saturday = Cron("0 9 7 3 *", on_excluded=BEFORE, end_ms=ms("2026-03-07 08:59"))
    assert fires(saturday, WEEKENDS, since="2026-01-01", until="2026-12-31") == []


@pytest.mark.parametrize("on_excluded", OnExcluded)
def test_with_every_day_excluded_nothing_fires_and_the_search_ends(on_excluded: OnExcluded) -> None:
    always = Calendar(weekdays=tuple(range(7)))
    for schedule in (
        Cron("0 9 * * *", on_excluded=on_excluded),
        Every(1_000, 0, on_excluded=on_excluded),
        At(NOON_MS, on_excluded=on_excluded),
    ):
        times = compile_schedule(schedule, (always,))
        assert times.next_fire_after(NOON_MS - 1) is None
        assert times.skip_reason(NOON_MS) is CALENDAR


def left_out(*texts: str) -> tuple[ChangedOccurrence, ...]:
    return tuple(ChangedOccurrence(ms(text)) for text in texts)


DAILY = "0 9 * * *"


def test_an_occurrence_that_is_left_out_is_told_as_asked_for() -> None:
    times = compile_schedule(Cron(DAILY, changed=left_out("2026-03-03 09:00")))
    assert walk(times, ms("2026-03-02"), ms("2026-03-05")) == {
        ms("2026-03-02 09:00"): None,
        ms("2026-03-03 09:00"): REQUESTED,
        ms("2026-03-04 09:00"): None,
    }


def test_a_moved_occurrence_fires_at_its_new_time_and_is_told_at_its_old_one() -> None:
    for moved in ("2026-03-03 17:45", "2026-03-03 01:00", "2026-03-05 12:00"):
        change = ChangedOccurrence(ms("2026-03-03 09:00"), ms(moved))
        times = compile_schedule(Cron(DAILY, changed=(change,)))
        found = walk(times, ms("2026-03-03"), ms("2026-03-04"))
        assert found[change.at_ms] is MOVED
        assert times.skip_reason(ms(moved)) is None
        assert times.next_after(ms(moved) - 1) == times.next_fire_after(ms(moved) - 1) == ms(moved)


def test_a_moved_occurrence_fires_on_a_day_that_is_excluded() -> None:
    change = ChangedOccurrence(ms("2026-03-06 09:00"), ms("2026-03-07 10:00"))
    daily = Cron(DAILY, changed=(change,))
    found = fires(daily, WEEKENDS, since="2026-03-05", until="2026-03-10")
    assert found == ["03-05 09:00", "03-07 10:00", "03-09 09:00"]


def test_an_occurrence_moved_onto_another_is_one_with_it() -> None:
    change = ChangedOccurrence(ms("2026-03-03 09:00"), ms("2026-03-04 09:00"))
    daily = Cron(DAILY, changed=(change,))
    assert fires(daily, since="2026-03-02", until="2026-03-06") == ["03-02 09:00", "03-04 09:00", "03-05 09:00"]
    # Also onto one that was left out: there is something to run at that time after all.
    both = Cron(DAILY, changed=(change, *left_out("2026-03-04 09:00")))
    assert fires(both, since="2026-03-02", until="2026-03-06") == ["03-02 09:00", "03-04 09:00", "03-05 09:00"]


def test_what_a_calendar_moved_can_be_left_out_where_it_comes() -> None:
    weekly = Cron("0 9 * * SAT", on_excluded=AFTER, changed=left_out("2026-03-09 09:00"))
    assert fires(weekly, WEEKENDS, since="2026-03-02", until="2026-03-20") == ["03-02 09:00", "03-16 09:00"]


def test_a_change_of_what_never_comes_changes_nothing() -> None:
    daily = Cron(DAILY, changed=left_out("2026-03-03 09:01"))
    assert fires(daily, since="2026-03-03", until="2026-03-05") == ["03-03 09:00", "03-04 09:00"]


def test_the_last_occurrence_can_be_moved_behind_all_others() -> None:
    once = At(NOON_MS, changed=(ChangedOccurrence(NOON_MS, NOON_MS + DAY_MS),))
    assert walk(compile_schedule(once), 0, NOON_MS + 2 * DAY_MS) == {NOON_MS: MOVED, NOON_MS + DAY_MS: None}


def test_as_many_as_may_be_left_out_in_a_row_are_passed_over() -> None:
    gone = tuple(ChangedOccurrence(NOON_MS + number * 1_000) for number in range(limits.CHANGED_MAX))
    times = compile_schedule(Every(1_000, 0, changed=gone))
    assert times.next_fire_after(NOON_MS - 1) == NOON_MS + limits.CHANGED_MAX * 1_000


def test_a_stream_goes_on_strictly_over_all_edges() -> None:
    # Every five minutes of a week with a weekend, a moved and a left-out occurrence, and a change of the clocks.
    changed = (
        ChangedOccurrence(ms("2026-03-27 09:00")),
        ChangedOccurrence(ms("2026-03-30 09:00"), ms("2026-03-28 00:00")),
    )
    for on_excluded in OnExcluded:
        schedule = Every(5 * MINUTE_MS, 0, timezone=BERLIN, on_excluded=on_excluded, changed=changed)
        times = compile_schedule(schedule, (WEEKENDS,))
        instants = list(walk(times, ms("2026-03-25"), ms("2026-04-01")))
        assert all(earlier < later for earlier, later in pairwise(instants))
        assert len(instants) == 7 * 24 * 12
