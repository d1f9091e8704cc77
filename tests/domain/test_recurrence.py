"""When recurrence rules come: on nights when clocks change, to their ends, without what is excluded, and never."""

from datetime import date, timedelta

import pytest

from dueline.domain import limits
from dueline.domain.localtime import DstGap, DstOverlap, Stretch, stretches
from dueline.domain.recurrence import times as recurrence_times
from dueline.domain.recurrence.times import RuleTimes
from tests.domain.rule_times import after, between, millis, rule_of, shown, wall_times

AFTER, SKIP, BEFORE = DstGap
FIRST, SECOND, BOTH = DstOverlap
BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("zone", "start", "gap", "expected"),
    [
        (BERLIN, "2026-03-28T02:30", AFTER, "2026-03-29T03:00:00+02:00"),
        (BERLIN, "2026-03-28T02:30", BEFORE, "2026-03-29T01:30:00+01:00"),
        (BERLIN, "2026-03-28T02:30", SKIP, "2026-03-30T02:30:00+02:00"),
        ("America/New_York", "2026-03-07T02:30", AFTER, "2026-03-08T03:00:00-04:00"),
        ("America/New_York", "2026-03-07T02:30", BEFORE, "2026-03-08T01:30:00-05:00"),
        ("America/New_York", "2026-03-07T02:30", SKIP, "2026-03-09T02:30:00-04:00"),
        ("Australia/Lord_Howe", "2026-10-03T02:15", AFTER, "2026-10-04T02:30:00+11:00"),
        ("Australia/Lord_Howe", "2026-10-03T02:15", BEFORE, "2026-10-04T01:45:00+10:30"),
        ("Australia/Lord_Howe", "2026-10-03T02:15", SKIP, "2026-10-05T02:15:00+11:00"),
        ("Africa/Cairo", "2026-04-23T00:30", AFTER, "2026-04-24T01:00:00+03:00"),
        ("Africa/Cairo", "2026-04-23T00:30", BEFORE, "2026-04-23T23:30:00+02:00"),
        ("America/Sao_Paulo", "2018-11-03T00:30", AFTER, "2018-11-04T01:00:00-02:00"),
        ("America/Sao_Paulo", "2018-11-03T00:30", BEFORE, "2018-11-03T23:30:00-03:00"),
        ("America/Sao_Paulo", "2018-11-03T00:30", SKIP, "2018-11-05T00:30:00-02:00"),
        ("Pacific/Apia", "2011-12-29T10:00", AFTER, "2011-12-31T00:00:00+14:00"),
        ("Pacific/Apia", "2011-12-29T10:00", SKIP, "2011-12-31T10:00:00+14:00"),
    ],
)
def test_a_time_that_the_clocks_jump_over_comes_as_the_policy_says(
    zone: str, start: str, gap: DstGap, expected: str
) -> None:
    assert wall_times(rule_of("FREQ=DAILY", zone, start, gap), start, 1) == [expected]


@pytest.mark.parametrize(
    ("zone", "start", "overlap", "expected"),
    [
        (BERLIN, "2026-10-24T02:30", FIRST, "2026-10-25T02:30:00+02:00"),
        (BERLIN, "2026-10-24T02:30", SECOND, "2026-10-25T02:30:00+01:00"),
        (BERLIN, "2026-10-24T02:30", BOTH, "2026-10-25T02:30:00+02:00 2026-10-25T02:30:00+01:00"),
        ("America/New_York", "2026-10-31T01:30", SECOND, "2026-11-01T01:30:00-05:00"),
        ("Australia/Lord_Howe", "2026-04-04T01:45", BOTH, "2026-04-05T01:45:00+11:00 2026-04-05T01:45:00+10:30"),
        ("America/Sao_Paulo", "2018-02-16T23:30", BOTH, "2018-02-17T23:30:00-02:00 2018-02-17T23:30:00-03:00"),
        ("Africa/Cairo", "2026-10-28T23:30", SECOND, "2026-10-29T23:30:00+02:00"),
    ],
)
def test_a_time_that_the_clocks_show_twice_comes_as_the_policy_says(
    zone: str, start: str, overlap: DstOverlap, expected: str
) -> None:
    times = expected.split()
    assert wall_times(rule_of("FREQ=DAILY", zone, start, overlap=overlap), start, len(times)) == times


def test_a_day_that_is_shown_again_after_midnight_comes_again() -> None:
    # One minute into 29 October 2006 the clocks of St John's went back to 28 October, 23:01.
    zone, since = "America/St_Johns", "2006-10-29T00:00:30-02:30"
    daily = rule_of("FREQ=DAILY", zone, "2006-10-27T23:30", overlap=BOTH)
    assert wall_times(daily, since, 2) == ["2006-10-28T23:30:00-03:30", "2006-10-29T23:30:00-03:30"]
    saturdays = rule_of("FREQ=MINUTELY;INTERVAL=30;BYDAY=SA", zone, "2006-10-27T23:30")
    assert wall_times(saturdays, since, 2) == ["2006-10-28T23:30:00-03:30", "2006-11-04T00:00:00-03:30"]
    seconds = rule_of("FREQ=SECONDLY;BYDAY=SA", zone, "2006-10-27T23:30")
    assert wall_times(seconds, since, 1) == ["2006-10-28T23:01:00-03:30"]


@pytest.mark.parametrize("rule", ["FREQ=DAILY;BYHOUR=0,23;BYMINUTE=0,30", "FREQ=MINUTELY;INTERVAL=30;BYHOUR=0,23"])
def test_what_two_days_show_in_turn_comes_in_the_order_of_time(rule: str) -> None:
    schedule = rule_of(rule, "America/St_Johns", "2006-10-27T00:00", overlap=BOTH)
    assert wall_times(schedule, "2006-10-28T23:15-02:30", 5) == [
        "2006-10-28T23:30:00-02:30",
        "2006-10-29T00:00:00-02:30",
        "2006-10-28T23:30:00-03:30",
        "2006-10-29T00:00:00-03:30",
        "2006-10-29T00:30:00-03:30",
    ]


def test_a_rule_by_hours_follows_real_time_when_the_clocks_change() -> None:
    rule = rule_of("FREQ=HOURLY;INTERVAL=2", BERLIN, "2026-03-28T23:00", SKIP)
    assert wall_times(rule, "2026-03-29T00:00", 3) == [
        "2026-03-29T01:00:00+01:00",
        "2026-03-29T04:00:00+02:00",
        "2026-03-29T06:00:00+02:00",
    ]


def test_other_parts_of_a_rule_by_hours_look_at_the_wall_clock() -> None:
    rule = rule_of("FREQ=HOURLY;BYHOUR=2,3", BERLIN, "2026-10-24T00:00")
    assert wall_times(rule, "2026-10-25T00:00", 4) == [
        "2026-10-25T02:00:00+02:00",
        "2026-10-25T02:00:00+01:00",
        "2026-10-25T03:00:00+01:00",
        "2026-10-26T02:00:00+01:00",
    ]


def test_minutes_named_by_an_hourly_rule_are_those_of_the_wall_clock_after_half_an_hour_was_put_on_it() -> None:
    zone = "Australia/Lord_Howe"
    named = rule_of("FREQ=HOURLY;BYMINUTE=0", zone, "2026-10-04T00:00")
    assert [time[11:16] for time in wall_times(named, "2026-10-04T00:30", 3)] == ["01:00", "03:00", "04:00"]
    unnamed = rule_of("FREQ=HOURLY", zone, "2026-10-04T00:00")
    assert [time[11:16] for time in wall_times(unnamed, "2026-10-04T00:30", 3)] == ["01:00", "02:30", "03:30"]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("FREQ=SECONDLY;COUNT=3", "00:00:00 00:00:01 00:00:02"),
        ("FREQ=SECONDLY;INTERVAL=20;BYSECOND=0,40;COUNT=3", "00:00:00 00:00:40 00:01:00"),
        ("FREQ=MINUTELY;BYSECOND=15,45;COUNT=3", "00:00:15 00:00:45 00:01:15"),
        ("FREQ=MINUTELY;BYSECOND=15,45;BYSETPOS=-1;COUNT=3", "00:00:45 00:01:45 00:02:45"),
        ("FREQ=HOURLY;BYMINUTE=10,20,30;BYSETPOS=1,-1;COUNT=3", "00:10:00 00:30:00 01:10:00"),
        ("FREQ=HOURLY;BYSECOND=30;COUNT=2", "00:00:30 01:00:30"),
        ("FREQ=HOURLY;INTERVAL=3;BYMINUTE=0,30;COUNT=4", "00:00:00 00:30:00 03:00:00 03:30:00"),
        ("FREQ=DAILY;BYHOUR=9,17;BYMINUTE=0,30;BYSETPOS=2,-1;COUNT=2", "09:30:00 17:30:00"),
        ("FREQ=HOURLY;BYHOUR=22,23;UNTIL=20260101", "22:00:00 23:00:00"),
        ("FREQ=DAILY;BYHOUR=22,23;UNTIL=20260101", "22:00:00 23:00:00"),
        ("FREQ=DAILY;BYHOUR=22,23;UNTIL=20260101T220000Z", "22:00:00"),
    ],
)
def test_a_rule_that_ends_comes_so_often(rule: str, expected: str) -> None:
    found = wall_times(rule_of(rule), "2025-12-31T00:00", 9)
    assert [time[11:19] for time in found] == expected.split()


@pytest.mark.parametrize(
    "rule",
    ["FREQ=DAILY;COUNT=700", "FREQ=HOURLY;BYHOUR=9;COUNT=700", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;COUNT=700"],
)
def test_count_ends_a_rule_wherever_one_begins_to_ask(rule: str) -> None:
    schedule = rule_of(rule, BERLIN, "2026-01-01T09:00")
    last = millis("2027-12-01T09:00", BERLIN)
    assert RuleTimes(schedule).next_after(last - 1) == last
    assert RuleTimes(schedule).next_after(last) is None
    assert RuleTimes(schedule).next_after(millis("2031-01-01T00:00")) is None
    times = RuleTimes(schedule)
    assert times.next_after(last) is None
    assert len(after(times, 0, 1_000)) == 700


def test_a_time_that_is_left_out_counts_and_one_shown_twice_counts_once() -> None:
    spring = rule_of("FREQ=DAILY;COUNT=3", BERLIN, "2026-03-28T02:30", SKIP)
    assert len(after(RuleTimes(spring), 0, 9)) == 2
    autumn = rule_of("FREQ=DAILY;COUNT=3", BERLIN, "2026-10-24T02:30", overlap=BOTH)
    assert len(after(RuleTimes(autumn), 0, 9)) == 4


def test_the_start_is_an_occurrence_only_if_it_matches() -> None:
    assert wall_times(rule_of("FREQ=WEEKLY;BYDAY=FR;COUNT=2"), "2025-12-31T00:00", 9) == [
        "2026-01-02T00:00:00+00:00",
        "2026-01-09T00:00:00+00:00",
    ]


def test_a_week_without_a_day_is_that_of_the_start() -> None:
    # dateutil takes every day of the week; RFC 5545 fills in from the start what a rule leaves open.
    assert [time[:10] for time in wall_times(rule_of("FREQ=YEARLY;BYWEEKNO=20"), "2026-01-01T00:00", 2)] == [
        "2026-05-14",
        "2027-05-20",
    ]


def test_days_with_and_without_a_number_are_both_meant() -> None:
    found = wall_times(rule_of("FREQ=MONTHLY;BYDAY=FR,1MO"), "2026-02-01T00:00", 5)
    assert [time[:10] for time in found] == ["2026-02-02", "2026-02-06", "2026-02-13", "2026-02-20", "2026-02-27"]


@pytest.mark.parametrize("week", [1, 2, 20, 51, 52, 53])
def test_weeks_are_numbered_as_iso_8601_does(week: int) -> None:
    rule = rule_of(f"FREQ=YEARLY;BYWEEKNO={week};BYDAY=MO,TU,WE,TH,FR,SA,SU", start="1999-01-01T00:00")
    found = between(RuleTimes(rule), 0, millis("2040-12-31T00:00"))
    days = (date(1999, 1, 1) + timedelta(days=number) for number in range(42 * 365 + 11))
    assert [shown(at_ms, "UTC")[:10] for at_ms in found] == [
        day.isoformat() for day in days if day.isocalendar().week == week and day.year <= 2040
    ]


def test_a_week_counted_from_the_end_may_be_the_first_of_the_next_year() -> None:
    # 29 to 31 December 2025 lie in the first of the 53 weeks of 2026.
    found = wall_times(rule_of("FREQ=YEARLY;BYWEEKNO=-53;BYDAY=WE", start="2025-01-01T00:00"), "2025-02-01T00:00", 1)
    assert found == ["2025-12-31T00:00:00+00:00"]


@pytest.mark.parametrize("rule", ["FREQ=DAILY", "FREQ=HOURLY;INTERVAL=24", "FREQ=DAILY;BYHOUR=9;BYSETPOS=1"])
def test_excluded_instants_and_days_are_left_out_and_count(rule: str) -> None:
    lines = (
        f"DTSTART;TZID={BERLIN}:20260101T090000\nRRULE:{rule};COUNT=6\nEXDATE;TZID={BERLIN}:20260102T090000\n"
        "EXDATE;VALUE=DATE:20260104,20260106"
    )
    found = after(RuleTimes(rule_of(lines)), 0, 9)
    assert [shown(at_ms, BERLIN)[:10] for at_ms in found] == ["2026-01-01", "2026-01-03", "2026-01-05"]


def test_an_excluded_day_leaves_out_what_the_clocks_moved_into_another() -> None:
    lines = "DTSTART;TZID=Pacific/Apia:20111229T100000\nRRULE:FREQ=DAILY;COUNT=3\nEXDATE;VALUE=DATE:20111230"
    found = after(RuleTimes(rule_of(lines)), 0, 9)
    assert [shown(at_ms, "Pacific/Apia") for at_ms in found] == [
        "2011-12-29T10:00:00-10:00",
        "2011-12-31T10:00:00+14:00",
    ]


def test_a_day_of_seconds_is_passed_over_at_once_where_it_is_excluded() -> None:
    lines = "DTSTART:20260101T000000Z\nRRULE:FREQ=SECONDLY\nEXDATE;VALUE=DATE:20260102"
    assert RuleTimes(rule_of(lines)).next_after(millis("2026-01-01T23:59:59")) == millis("2026-01-03T00:00:00")


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=HOURLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30",
        "FREQ=SECONDLY;INTERVAL=2;BYSECOND=1",
        "FREQ=HOURLY;INTERVAL=24;BYHOUR=5",
        "FREQ=HOURLY;BYMINUTE=0,30;BYSETPOS=3",
        "FREQ=WEEKLY;BYDAY=MO;BYSETPOS=2",
        "FREQ=MONTHLY;INTERVAL=12;BYMONTH=2",
        "FREQ=YEARLY;BYYEARDAY=366;BYMONTH=1",
        "FREQ=DAILY;UNTIL=20251231",
        "FREQ=HOURLY;UNTIL=20251231T000000Z",
    ],
)
def test_a_rule_that_never_fires_is_given_up(rule: str) -> None:
    assert RuleTimes(rule_of(rule)).next_after(millis("2026-06-01T00:00")) is None


@pytest.mark.parametrize("rule", ["FREQ=DAILY", "FREQ=DAILY;BYMONTH=1", "FREQ=YEARLY", "FREQ=MONTHLY", "FREQ=WEEKLY",
                                  "FREQ=SECONDLY", "FREQ=SECONDLY;BYMONTH=1", "FREQ=HOURLY;INTERVAL=1000000000",
                                  "FREQ=YEARLY;INTERVAL=1000000000", "FREQ=DAILY;INTERVAL=1000000000;BYMONTH=1"])  # fmt: skip
def test_past_the_end_of_the_calendar_there_is_none(rule: str) -> None:
    times = RuleTimes(rule_of(rule, BERLIN))
    assert times.next_after(millis("9998-12-31T23:59:59")) is None
    assert times.next_after(2**62) is None
    assert len(after(times, millis("9998-12-29T23:59:50"), 5)) <= 5


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("FREQ=DAILY", "3026-06-02"),
        ("FREQ=WEEKLY;BYDAY=TU", "3026-06-06"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "3026-06-30"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29", "3028-02-29"),
        ("FREQ=SECONDLY;BYMONTH=2", "3027-02-01"),
        ("FREQ=HOURLY;INTERVAL=5;BYMONTHDAY=31", "3026-07-31"),
    ],
)
def test_an_answer_a_thousand_years_on_looks_at_a_few_days(
    rule: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def counted(zone: str, day: int, gap: DstGap, overlap: DstOverlap) -> tuple[Stretch, ...]:
        seen.append(day)
        return stretches(zone, day, gap, overlap)

    monkeypatch.setattr(recurrence_times, "stretches", counted)
    found = RuleTimes(rule_of(rule, BERLIN)).next_after(millis("3026-06-01T12:00"))
    assert found is not None
    assert shown(found, BERLIN)[:10] == expected
    assert len(seen) < 12


def test_what_is_sparse_is_found_by_leaving_out_months_not_seconds() -> None:
    rule = rule_of("FREQ=SECONDLY;INTERVAL=3601;BYHOUR=0;BYMINUTE=0;BYSECOND=0")
    found = RuleTimes(rule).next_after(millis("2026-01-01T00:00"))
    assert found is not None
    assert (found - rule.anchor_ms) % 3_601_000 == 0
    assert (found - rule.anchor_ms) % 86_400_000 == 0


def test_a_search_looks_at_every_year_there_is_and_at_decades_of_days() -> None:
    assert limits.RULE_STEPS_MAX > 9_999
    assert limits.RULE_STEPS_MAX > limits.SEARCH_YEARS * 366
    assert limits.RULE_TRIES_MAX > 86_400
