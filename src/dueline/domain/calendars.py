"""Calendars: named sets of days on which nothing runs, such as the holidays of a country. Days are ordinals, of no zone of their own."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Literal, NoReturn

import msgspec

from dueline.domain import limits
from dueline.domain.errors import Invalid

WEEKDAY_NAMES = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_YEARLY = re.compile(r"(\d\d)-(\d\d)", re.ASCII)
_SHOWN_LETTERS = 40
_LAST_YEAR = 9_998
_LEAP_YEAR = 2_000
_EXAMPLE = "right would be 2026-12-25, 2026-12-24/2027-01-01 or 12-25 for every year"


class Calendar(msgspec.Struct, frozen=True, omit_defaults=True):
    """Excluded days: some days of every week, some dates of every year, and ranges of days. All are sorted, and ranges do not touch."""

    weekdays: tuple[int, ...] = ()
    """From Monday as 0."""
    yearly: tuple[tuple[int, int], ...] = ()
    """Month and day."""
    ranges: tuple[tuple[int, int], ...] = ()
    """First and last day, both included."""

    def excludes(self, day: int) -> bool:
        if (day - 1) % 7 in self.weekdays:
            return True
        after = bisect_right(self.ranges, day, key=_first)
        if after and day <= self.ranges[after - 1][1]:
            return True
        if not self.yearly:
            return False
        when = date.fromordinal(day)
        index = bisect_left(self.yearly, (when.month, when.day))
        return index < len(self.yearly) and self.yearly[index] == (when.month, when.day)


def next_free_day(calendars: Sequence[Calendar], day: int, step: Literal[1, -1]) -> int | None:
    """The first day that no calendar excludes, from one on forwards or backwards: that day itself where it is free.

    None when there is none within a year.
    """
    for free in range(day, day + step * (limits.EXCLUDED_DAYS_MAX + 1), step):
        if not any(calendar.excludes(free) for calendar in calendars):
            return free
    return None


def read_calendar(dates: Sequence[str], weekdays: Sequence[str], *, field: str) -> Calendar:
    """The calendar of `2026-12-25`, `2026-12-24/2027-01-01` (both included), `12-25` (every year), and of days of the week by name.

    All that is wrong is Invalid, each problem named by its place: `dates[3]`, behind the field if there is one.
    """
    prefix = f"{field}." if field else ""
    if len(dates) > limits.CALENDAR_DATES_MAX:
        raise Invalid(
            (f"{prefix}dates", f"there are more than {limits.CALENDAR_DATES_MAX}: write days in a row as a range")
        )
    found = _Found()
    for number, text in enumerate(dates):
        found.take(f"{prefix}dates[{number}]", text, found.date)
    for number, text in enumerate(weekdays):
        found.take(f"{prefix}weekdays[{number}]", text, found.weekday)
    if len(found.weekdays) == 7:
        every = "a calendar that excludes every day of the week leaves none: name fewer"
        found.refused.append((f"{prefix}weekdays", every))
    if found.refused:
        raise Invalid(*found.refused)
    return Calendar(tuple(sorted(found.weekdays)), tuple(sorted(found.yearly)), merged(found.ranges))


class _Found:
    """What was read of a calendar so far, and what of it could not be: all of that is told at once."""

    def __init__(self) -> None:
        self.yearly: set[tuple[int, int]] = set()
        self.ranges: list[tuple[int, int]] = []
        self.weekdays: set[int] = set()
        self.refused: list[tuple[str, str]] = []

    def take(self, where: str, text: str, read: Callable[[str, str], None]) -> None:
        if len(self.refused) < limits.PROBLEMS_MAX:
            try:
                read(where, text)
            except Invalid as error:
                self.refused.extend(error.problems)

    def date(self, where: str, text: str) -> None:
        every_year = _YEARLY.fullmatch(text)
        if every_year:
            _day(f"{_LEAP_YEAR}-{text}", text, where)
            self.yearly.add((int(every_year.group(1)), int(every_year.group(2))))
            return
        first_text, slash, last_text = text.partition("/")
        first = _day(first_text, text, where)
        last = _day(last_text, text, where) if slash else first
        if last < first:
            _refuse(where, text, "ends before it begins")
        self.ranges.append((first, last))

    def weekday(self, where: str, text: str) -> None:
        self.weekdays.add(_weekday(text, where))


def calendar_dates(calendar: Calendar) -> list[str]:
    """The dates as they are written, those of every year first."""
    yearly = [f"{month:02}-{day:02}" for month, day in calendar.yearly]
    return [*yearly, *(_range_text(first, last) for first, last in calendar.ranges)]


def weekday_names(calendar: Calendar) -> list[str]:
    return [WEEKDAY_NAMES[weekday] for weekday in calendar.weekdays]


def merged(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """The same days as sorted ranges that neither overlap nor touch."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def _first(days: tuple[int, int]) -> int:
    return days[0]


def _day(text: str, written: str, where: str) -> int:
    try:
        if not _DATE.fullmatch(text):
            raise ValueError
        when = date.fromisoformat(text)
    except ValueError:
        _refuse(where, written, "is no date")
    if not 1970 <= when.year <= _LAST_YEAR:
        _refuse(where, written, f"does not lie between the years 1970 and {_LAST_YEAR}")
    return when.toordinal()


def _weekday(text: str, where: str) -> int:
    name = text.upper() if text.isascii() else text
    if name not in WEEKDAY_NAMES:
        raise Invalid((where, f"{_shown(text)!r} is no day of the week: use {', '.join(WEEKDAY_NAMES)}"))
    return WEEKDAY_NAMES.index(name)


def _range_text(first: int, last: int) -> str:
    begins = date.fromordinal(first).isoformat()
    return begins if first == last else f"{begins}/{date.fromordinal(last).isoformat()}"


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}…"


def _refuse(where: str, text: str, reason: str) -> NoReturn:
    raise Invalid((where, f"{_shown(text)!r} {reason}; {_EXAMPLE}"))
