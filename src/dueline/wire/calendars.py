"""Calendars: named days on which nothing runs, as people write them."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from dueline.domain import limits
from dueline.domain.calendars import Calendar, calendar_dates, merged, read_calendar, weekday_names
from dueline.domain.icalendar import parse_icalendar
from dueline.domain.instants import format_instant
from dueline.domain.localtime import wall_day
from dueline.wire.problems import Problems
from dueline.wire.reading import WHOLE


class CalendarInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Days to exclude. `icalendar` is the text of an iCalendar file: the days of its events are added to the dates."""

    READ_ONLY: ClassVar[frozenset[str]] = frozenset({"name", "version", "updated_at"})

    dates: list[str] | None = None
    weekdays: list[str] | None = None
    icalendar: str | None = None


class CalendarView(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar in its canonical form. Its version grows with every change."""

    name: str
    dates: list[str]
    weekdays: list[str]
    version: int
    updated_at: str


def to_calendar(asked: CalendarInput, problems: Problems, *, now_ms: int) -> Calendar:
    """The calendar that was asked for, or Invalid with what is wrong, that which was told before included."""
    if asked == CalendarInput() and not problems.found:
        problems.add(WHOLE, "says nothing: give dates, weekdays or icalendar")
    written, events = Calendar(), Calendar()
    with problems.gathering():
        written = read_calendar(asked.dates or (), asked.weekdays or (), field="")
    if asked.icalendar is not None:
        with problems.gathering():
            events = parse_icalendar(asked.icalendar, now_day=wall_day("UTC", now_ms // 1000), field="icalendar")
    ranges = merged([*written.ranges, *events.ranges])
    if len(ranges) > limits.CALENDAR_DATES_MAX:
        problems.add("icalendar", f"makes more than {limits.CALENDAR_DATES_MAX} dates together with those in dates")
    problems.raise_any()
    return Calendar(written.weekdays, written.yearly, ranges)


def calendar_view(name: str, calendar: Calendar, *, version: int, updated_ms: int) -> CalendarView:
    return CalendarView(
        name=name,
        dates=calendar_dates(calendar),
        weekdays=weekday_names(calendar),
        version=version,
        updated_at=format_instant(updated_ms),
    )
