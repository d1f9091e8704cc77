"""Calendars: which days they exclude, and how they are written."""

from datetime import date

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dueline.domain import limits
from dueline.domain.calendars import Calendar, calendar_dates, merged, next_free_day, read_calendar, weekday_names
from dueline.domain.errors import Invalid


def day(text: str) -> int:
    return date.fromisoformat(text).toordinal()


def calendar_of(*dates: str, weekdays: str = "") -> Calendar:
    return read_calendar(dates, weekdays.split(), field="calendar")


HOLIDAYS = calendar_of("2026-04-03", "2026-12-24/2027-01-01", "05-01", "02-29", weekdays="SAT SUN")


@pytest.mark.parametrize(
    ("text", "excluded"),
    [
        ("2026-04-02", False),
        ("2026-04-03", True),
        ("2026-04-04", True),
        ("2026-04-05", True),
        ("2026-04-06", False),
        ("2027-04-02", False),
        ("2026-12-23", False),
        ("2026-12-24", True),
        ("2026-12-30", True),
        ("2027-01-01", True),
        ("2027-01-04", False),
        ("2026-05-01", True),
        ("2029-05-01", True),
        ("2028-02-29", True),
        ("2028-02-28", False),
        ("2027-03-01", False),
    ],
)
def test_a_day_is_excluded_by_its_date_every_year_or_by_its_weekday(text: str, excluded: bool) -> None:
    assert HOLIDAYS.excludes(day(text)) is excluded


def test_an_empty_calendar_excludes_nothing() -> None:
    assert not any(Calendar().excludes(number) for number in range(day("2026-01-01"), day("2027-01-01")))


@pytest.mark.parametrize(
    ("since", "step", "free"),
    [
        ("2026-04-02", 1, "2026-04-02"),
        ("2026-04-03", 1, "2026-04-06"),
        ("2026-04-03", -1, "2026-04-02"),
        ("2026-12-26", 1, "2027-01-04"),
        ("2026-12-26", -1, "2026-12-23"),
    ],
)
def test_the_nearest_free_day_is_found(since: str, step: int, free: str) -> None:
    assert next_free_day([HOLIDAYS], day(since), 1 if step > 0 else -1) == day(free)


def test_a_free_day_is_free_in_all_calendars() -> None:
    mondays, first_week = calendar_of(weekdays="MON"), calendar_of("2026-06-02/2026-06-07")
    assert next_free_day([mondays, first_week], day("2026-06-01"), 1) == day("2026-06-09")
    assert next_free_day([], day("2026-06-01"), 1) == day("2026-06-01")


def test_no_free_day_is_looked_for_further_than_a_year() -> None:
    almost = Calendar(ranges=((1_000, 1_000 + limits.EXCLUDED_DAYS_MAX - 1),))
    assert next_free_day([almost], 1_000, 1) == 1_000 + limits.EXCLUDED_DAYS_MAX
    full = Calendar(ranges=((1_000, 1_000 + limits.EXCLUDED_DAYS_MAX),))
    assert next_free_day([full], 1_000, 1) is None
    assert next_free_day([full], 1_000 + limits.EXCLUDED_DAYS_MAX, -1) is None


def test_a_calendar_is_written_as_it_is_read_sorted_and_with_days_in_a_row_as_one_range() -> None:
    calendar = calendar_of(
        "2026-12-26", "12-25", "2026-01-01", "01-06", "2026-12-25", "2026-12-27/2026-12-31", weekdays="sun SAT"
    )
    assert calendar_dates(calendar) == ["01-06", "12-25", "2026-01-01", "2026-12-25/2026-12-31"]
    assert weekday_names(calendar) == ["SAT", "SUN"]
    assert read_calendar(calendar_dates(calendar), weekday_names(calendar), field="") == calendar


def test_a_calendar_is_stored_as_json() -> None:
    assert msgspec.json.decode(msgspec.json.encode(HOLIDAYS), type=Calendar) == HOLIDAYS
    assert msgspec.json.encode(Calendar()) == b"{}"


@pytest.mark.parametrize(
    ("dates", "weekdays", "field", "reason"),
    [
        (["2026-01-01", "tomorrow"], [], "calendar.dates[1]", "'tomorrow' is no date; right would be 2026-12-25"),
        (["2026-02-29"], [], "calendar.dates[0]", "'2026-02-29' is no date"),
        (["02-30"], [], "calendar.dates[0]", "'02-30' is no date"),
        (["13-01"], [], "calendar.dates[0]", "'13-01' is no date"),
        (["2026-1-1"], [], "calendar.dates[0]", "is no date"),
        (["20260101"], [], "calendar.dates[0]", "is no date"),
        (["2026-01-01/"], [], "calendar.dates[0]", "is no date"),
        (["2026-01-01/2026-01-02/2026-01-03"], [], "calendar.dates[0]", "is no date"),
        (["2026-01-02/2026-01-01"], [], "calendar.dates[0]", "ends before it begins"),
        (["1969-01-01"], [], "calendar.dates[0]", "between the years 1970"),
        (["x" * 1_000], [], "calendar.dates[0]", "x…' is no date"),
        (["2026-01-01"] * 5_001, [], "calendar.dates", "more than 5000"),
        ([], ["MON", "Monday"], "calendar.weekdays[1]", "'Monday' is no day of the week: use MON, TUE"),
        ([], ["MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN"], "calendar.weekdays", "leaves none"),
    ],
)
def test_what_is_no_calendar_is_refused_by_its_place(
    dates: list[str], weekdays: list[str], field: str, reason: str
) -> None:
    with pytest.raises(Invalid) as refused:
        read_calendar(dates, weekdays, field="calendar")
    assert refused.value.problems[0][0] == field
    assert reason in refused.value.problems[0][1]


RANGES = st.lists(st.tuples(st.integers(720_000, 720_100), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair))))


@given(RANGES)
def test_merged_ranges_hold_the_same_days(ranges: list[tuple[int, int]]) -> None:
    calendar = Calendar(ranges=merged(ranges))
    for number in range(719_990, 720_120):
        assert calendar.excludes(number) == any(first <= number <= last for first, last in ranges)
    assert read_calendar(calendar_dates(calendar), [], field="") == calendar
