"""The fields of APScheduler's cron trigger. All must fit; 0 is Monday; what is finer than the finest given is at its first value."""

from __future__ import annotations

import re
from typing import Any

from dueline.moving.entries import Unconvertible
from dueline.moving.spelling import WEEKDAYS, Times, schedule_of
from dueline.moving.terms import MONTHS, Field, read_terms

FIELDS = ("year", "month", "day", "week", "day_of_week", "hour", "minute", "second")
_DAY_NAMES = {"mon": 0, "tue": 1, "wed": 2, "thu": 3, "fri": 4, "sat": 5, "sun": 6}
_NUMBERED = {
    "year": Field("year", 1970, 2199),
    "month": Field("month", 1, 12, MONTHS),
    "day": Field("day", 1, 31),
    "day_of_week": Field("day_of_week", 0, 6, _DAY_NAMES),
    "hour": Field("hour", 0, 23),
    "minute": Field("minute", 0, 59),
    "second": Field("second", 0, 59),
}
_FIRST = {
    "year": "*",
    "month": "1",
    "day": "1",
    "week": "*",
    "day_of_week": "*",
    "hour": "0",
    "minute": "0",
    "second": "0",
}
_POSITION = re.compile(r"(1st|2nd|3rd|4th|5th|last) +(mon|tue|wed|thu|fri|sat|sun)")


def cron_schedule(given: dict[str, str], zone: str) -> dict[str, Any]:
    """The schedule of the fields that were given."""
    if given.get("week", "*") != "*":
        raise Unconvertible("the field week has no like in Dueline: name months and days instead")
    least = max(FIELDS.index(name) for name in given)
    texts = {name: given.get(name, "*" if at < least else _FIRST[name]) for at, name in enumerate(FIELDS)}
    plain, last_date, nth = _days(texts["day"])
    weekdays = None if texts["day_of_week"] == "*" else _numbers("day_of_week", texts["day_of_week"])
    if weekdays is not None and nth:
        raise Unconvertible("day names days of the week in a second way: leave out day_of_week")
    times = Times(
        seconds=_numbers("second", texts["second"]),
        minutes=_numbers("minute", texts["minute"]),
        hours=_numbers("hour", texts["hour"]),
        dates=plain,
        months=None if texts["month"] == "*" else _numbers("month", texts["month"]),
        # Monday is 0 there, and Sunday is 0 here.
        weekdays=None if weekdays is None or len(weekdays) == 7 else frozenset((day + 1) % 7 for day in weekdays),
        years=_year(texts["year"]),
        hours_count_on=texts["hour"].startswith("*"),
        last_date=last_date,
        nth=nth,
    )
    schedule = schedule_of(times, zone)
    if "rrule" in schedule and times.years != "*":
        raise Unconvertible(
            "day and day_of_week must both fit in certain years: leave out the year, and give an end_date"
        )
    return schedule


def _numbers(name: str, text: str) -> frozenset[int]:
    field = _NUMBERED[name]
    if "?" in text:
        raise Unconvertible(f"the {name} {text!r} is none that can be read")
    return frozenset(number for term in read_terms(field, text) for number in term.numbers(field))


def _year(text: str) -> str:
    if text != "*":
        _numbers("year", text)
    return text


def _days(text: str) -> tuple[frozenset[int] | None, bool, tuple[str, ...]]:
    """Dates, whether the last day of the month fits as well, and days such as the third Friday."""
    dates: set[int] = set()
    last, nth = False, []
    for term in text.lower().split(","):
        position = _POSITION.fullmatch(term.strip())
        if position is not None:
            day = position[2].upper()
            assert day in WEEKDAYS, "the pattern names days"
            nth.append(f"{day}L" if position[1] == "last" else f"{day}#{position[1][0]}")
        elif term.strip() == "last":
            last = True
        else:
            dates |= _numbers("day", term)
    return None if len(dates) == 31 else frozenset(dates), last, tuple(nth)
