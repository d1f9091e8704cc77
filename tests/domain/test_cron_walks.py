"""When cron expressions fire, compared with walks over every minute, every second and every date."""

from bisect import bisect_right
from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dueline.domain.localtime import DstGap, DstOverlap
from tests.domain.cron_oracle import (
    CHANGES,
    NIGHTS,
    DayRule,
    Expression,
    dates,
    days_between,
    expressions,
    fires_around,
    night_s,
    walk,
    weekdays,
)
from tests.domain.cron_times import next_s, seconds

DAY_S = 86_400
nights = st.sampled_from(NIGHTS)
gaps = st.sampled_from(DstGap)
overlaps = st.sampled_from(DstOverlap)
shifts = st.integers(-DAY_S, DAY_S) | st.integers(-7_200, 7_200)


def chain(
    expression: str, zone: str, at_s: int, until_s: int, gap: DstGap, overlap: DstOverlap, most: int
) -> list[int]:
    found: list[int] = []
    while len(found) < most:
        following_s = next_s(expression, zone, at_s, gap, overlap)
        if following_s is None or following_s >= until_s:
            break
        found.append(at_s := following_s)
    return found


@settings(max_examples=2_000)
@given(expressions(), nights, shifts, gaps, overlaps)
def test_expressions_fire_as_a_walk_over_every_minute_says(
    expression: Expression, night: tuple[str, str], shift_s: int, gap: DstGap, overlap: DstOverlap
) -> None:
    expected = fires_around(expression, walk(*night, reach_s=2 * DAY_S, tick_s=60), gap, overlap)
    middle_s = night_s(night[1])
    found = chain(expression.text, night[0], middle_s + shift_s, middle_s + 2 * DAY_S, gap, overlap, 40)
    assert found == expected[bisect_right(expected, middle_s + shift_s) :][:40]


SHORT_CHANGES = [night for night in CHANGES if night[0] not in ("Pacific/Apia", "Pacific/Kwajalein")]


@settings(max_examples=100)
@given(expressions(with_seconds=True), st.sampled_from(SHORT_CHANGES), st.integers(-9_000, 9_000), gaps, overlaps)
def test_expressions_with_seconds_fire_as_a_walk_over_every_second_says(
    expression: Expression, night: tuple[str, str], shift_s: int, gap: DstGap, overlap: DstOverlap
) -> None:
    reach_s = 3 * 3_600
    expected = fires_around(expression, walk(*night, reach_s=reach_s, tick_s=1), gap, overlap)
    middle_s = night_s(night[1])
    found = chain(expression.text, night[0], middle_s + shift_s, middle_s + reach_s, gap, overlap, 40)
    assert found == expected[bisect_right(expected, middle_s + shift_s) :][:40]


@pytest.mark.parametrize("gap", DstGap)
@pytest.mark.parametrize("overlap", DstOverlap)
@pytest.mark.parametrize("night", NIGHTS, ids=" ".join)
def test_times_of_day_fire_on_every_night_under_every_policy_as_the_walk_says(
    night: tuple[str, str], overlap: DstOverlap, gap: DstGap
) -> None:
    every, middle_s = frozenset(range(60)), night_s(night[1])
    walked = walk(*night, reach_s=2 * DAY_S, tick_s=60)
    for text, minutes, hours in [
        ("0,30 0-23 * * *", frozenset({0, 30}), frozenset(range(24))),
        ("15 */2 * * *", frozenset({15}), frozenset(range(0, 24, 2))),
    ]:
        expression = Expression(text, frozenset({0}), minutes, hours, every, every)
        expected = fires_around(expression, walked, gap, overlap)
        since_s = middle_s - DAY_S
        assert (
            chain(text, night[0], since_s, middle_s + 2 * DAY_S, gap, overlap, 1_000)
            == expected[bisect_right(expected, since_s) :]
        )


@pytest.mark.parametrize("night", CHANGES, ids=" ".join)
def test_the_nights_are_nights_on_which_the_clocks_change(night: tuple[str, str]) -> None:
    at_s, zone = night_s(night[1]), ZoneInfo(night[0])
    before, after = datetime.fromtimestamp(at_s - 1, zone), datetime.fromtimestamp(at_s, zone)
    assert before.utcoffset() != after.utcoffset()


@settings(max_examples=300)
@given(
    expressions(),
    st.sampled_from(["", "0 ", "30 ", "*/7 ", "5,10 "]),
    nights,
    shifts,
    st.floats(0, 1, exclude_max=True),
    gaps,
    overlaps,
)
def test_the_next_lies_ahead_and_is_the_same_wherever_it_is_asked_from(
    expression: Expression,
    second: str,
    night: tuple[str, str],
    shift_s: int,
    part: float,
    gap: DstGap,
    overlap: DstOverlap,
) -> None:
    text, zone, at_s = second + expression.text, night[0], night_s(night[1]) + shift_s
    found_s = next_s(text, zone, at_s, gap, overlap)
    if found_s is None:
        return
    assert found_s > at_s
    between_s = at_s + int((found_s - at_s) * part)
    assert next_s(text, zone, between_s, gap, overlap) == found_s
    assert next_s(text, zone, found_s - 1, gap, overlap) == found_s


@settings(max_examples=60)
@given(st.integers(0, 86_399), st.sampled_from(SHORT_CHANGES))
@example(9_000, ("Europe/Berlin", "2026-03-29T01:00"))
@example(9_015, ("Europe/Berlin", "2026-10-25T01:00"))
def test_a_time_of_day_fires_once_on_every_night_also_with_its_second(
    second_of_day: int, night: tuple[str, str]
) -> None:
    zone, moment = night
    minute, second = divmod(second_of_day, 60)
    hour, minute = divmod(minute, 60)
    at_s, found = night_s(moment) - 86_400, []
    while at_s < night_s(moment) + 2 * 86_400:
        found_s = next_s(f"{second} {minute} {hour} * * *", zone, at_s)
        assert found_s is not None
        at_s = found_s
        found.append(datetime.fromtimestamp(at_s, ZoneInfo(zone)))
    dates = [moment.date() for moment in found]
    assert len(set(dates)) == len(dates)
    assert (dates[-1] - dates[0]).days == len(dates) - 1


SINCE, UNTIL = date(2027, 1, 1), date(2029, 1, 1)
months = st.sampled_from(["*", "2", "FEB,apr", "6-8", "*/5"])
MONTHS = {"*": range(1, 13), "2": [2], "FEB,apr": [2, 4], "6-8": [6, 7, 8], "*/5": [1, 6, 11]}
stars = st.sampled_from([("*", lambda _: True), ("?", lambda _: True)])


@settings(max_examples=100)
@given(st.lists(dates() | stars, min_size=1, max_size=3), months, st.lists(weekdays() | stars, min_size=1, max_size=3))
def test_days_are_those_that_a_walk_over_every_date_says(
    date_terms: list[tuple[str, DayRule]], month: str, weekday_terms: list[tuple[str, DayRule]]
) -> None:
    date_text, weekday_text = (",".join(text for text, _ in terms) for terms in (date_terms, weekday_terms))
    both = date_text[0] in "*?" or weekday_text[0] in "*?"
    expected = []
    for day in days_between(SINCE, UNTIL):
        on = (any(rule(day) for _, rule in date_terms), any(rule(day) for _, rule in weekday_terms))
        if day.month in MONTHS[month] and (all(on) if both else any(on)):
            expected.append(day)
    text = f"0 0 12 {date_text} {month} {weekday_text} 2027-2028"
    found, at_s = [], seconds("2026-06-01T00:00:00+00:00")
    while (found_s := next_s(text, "UTC", at_s)) is not None:
        at_s = found_s
        found.append(datetime.fromtimestamp(at_s, ZoneInfo("UTC")).date())
    assert found == expected
