"""RFC 5545 recurrence rules as they are written, `FREQ=MONTHLY;BYDAY=-1FR`: read into numbers, or refused with the part that is wrong
and what would be right.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple, NoReturn

import msgspec

from dueline.domain import limits
from dueline.domain.contentlines import Stamp, read_stamp
from dueline.domain.errors import InvalidSchedule

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WEEKDAY = re.compile(r"([+-]?\d{1,2})?(MO|TU|WE|TH|FR|SA|SU)", re.ASCII)
_SHOWN_LETTERS = 40


class Frequency(IntEnum):
    """The unit of the interval, from the finest."""

    SECONDLY = 0
    MINUTELY = 1
    HOURLY = 2
    DAILY = 3
    WEEKLY = 4
    MONTHLY = 5
    YEARLY = 6


class Recurrence(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule says. Numbers are sorted, days of the week count from Monday as 0; nothing is filled in from the start yet."""

    frequency: Frequency
    interval: int = 1
    count: int | None = None
    until: Stamp | None = None
    months: tuple[int, ...] = ()
    weeks: tuple[int, ...] = ()
    year_days: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    weekdays: tuple[tuple[int, int], ...] = ()
    """`MO` is (0, 0), `2TU` is (2, 1), `-1FR` is (-1, 4)."""
    hours: tuple[int, ...] = ()
    minutes: tuple[int, ...] = ()
    seconds: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    week_start: int = 0


class _List(NamedTuple):
    """A part that lists numbers, and which ones it may."""

    attribute: str
    low: int
    high: int
    signed: bool
    example: str


_LISTS = {
    "BYMONTH": _List("months", 1, 12, False, "1 or 6,7,8"),
    "BYWEEKNO": _List("weeks", 1, 53, True, "20 or -1"),
    "BYYEARDAY": _List("year_days", 1, 366, True, "1,100,200 or -1"),
    "BYMONTHDAY": _List("month_days", 1, 31, True, "1,15 or -1"),
    "BYHOUR": _List("hours", 0, 23, False, "9 or 9,17"),
    "BYMINUTE": _List("minutes", 0, 59, False, "0,30"),
    "BYSECOND": _List("seconds", 0, 59, False, "0,30"),
    "BYSETPOS": _List("positions", 1, 366, True, "1 or -1"),
}
_ORDER = ("FREQ", "INTERVAL", "COUNT", "UNTIL", *tuple(_LISTS)[:4], "BYDAY", *tuple(_LISTS)[4:], "WKST")


def read_recurrence(text: str, field: str) -> Recurrence:
    """What a rule means, without the property name before it. Parts may come in any order and letters in any case."""
    return _Reader(text, field).recurrence()


@lru_cache(maxsize=16_384)
def compiled_recurrence(canonical: str) -> Recurrence:
    """What a stored rule means."""
    return read_recurrence(canonical, "schedule.rrule")


def format_recurrence(recurrence: Recurrence) -> str:
    """The canonical text: parts in a fixed order, numbers sorted, defaults left out."""
    parts = [f"FREQ={recurrence.frequency.name}"]
    if recurrence.interval != 1:
        parts.append(f"INTERVAL={recurrence.interval}")
    if recurrence.count is not None:
        parts.append(f"COUNT={recurrence.count}")
    if recurrence.until is not None:
        parts.append(f"UNTIL={format_stamp(recurrence.until)}")
    for name in _ORDER:
        if name == "BYDAY" and recurrence.weekdays:
            parts.append("BYDAY=" + ",".join(f"{nth or ''}{WEEKDAYS[weekday]}" for nth, weekday in recurrence.weekdays))
        elif name in _LISTS and (numbers := getattr(recurrence, _LISTS[name].attribute)):
            parts.append(f"{name}=" + ",".join(map(str, numbers)))
    if recurrence.week_start:
        parts.append(f"WKST={WEEKDAYS[recurrence.week_start]}")
    return ";".join(parts)


def format_stamp(stamp: Stamp) -> str:
    text = date.fromordinal(stamp.day).isoformat().replace("-", "")
    if stamp.second is None:
        return text
    minutes, second = divmod(stamp.second, 60)
    return f"{text}T{minutes // 60:02}{minutes % 60:02}{second:02}" + ("Z" if stamp.utc else "")


class _Reader:
    """Reads one rule."""

    def __init__(self, text: str, field: str) -> None:
        self._field = field
        self._parts = self._split(text)

    def recurrence(self) -> Recurrence:
        if "FREQ" not in self._parts:
            self._refuse("FREQ is missing: begin with one such as FREQ=DAILY")
        name = self._parts["FREQ"]
        if name not in Frequency.__members__:
            self._wrong("FREQ", name, "is no frequency", ", ".join(reversed(Frequency.__members__)))
        found = Recurrence(
            frequency=Frequency[name],
            interval=self._number("INTERVAL", limits.RULE_INTERVAL_MAX) or 1,
            count=self._number("COUNT", limits.RULE_COUNT_MAX),
            until=self._until(),
            weekdays=self._weekdays(),
            week_start=self._week_start(),
            **{part.attribute: self._numbers(name, part) for name, part in _LISTS.items()},
        )
        for wrong, reason in _FORBIDDEN:
            if wrong(found):
                self._refuse(reason)
        return found

    def _split(self, text: str) -> Mapping[str, str]:
        parts: dict[str, str] = {}
        for number, part in enumerate(text.strip().split(";"), 1):
            name, equals, value = (piece.strip().upper() for piece in part.partition("="))
            # Letters of other scripts can become Latin ones in upper case.
            if not equals or not value or not part.isascii():
                self._refuse(f"part {number}, {_shown(part)!r}, is no NAME=VALUE such as FREQ=DAILY")
            if name not in _ORDER:
                self._refuse(f"part {number}, {_shown(name)!r}, is not known: use one of {', '.join(_ORDER)}")
            if name in parts:
                self._refuse(f"{name} is given twice: give it once, with commas between its values")
            parts[name] = value
        return parts

    def _number(self, name: str, most: int) -> int | None:
        text = self._parts.get(name)
        if text is None:
            return None
        if not re.fullmatch("[0-9]{1,12}", text) or not 1 <= int(text) <= most:
            self._wrong(name, text, f"is no number between 1 and {most}", f"{name}=2")
        return int(text)

    def _numbers(self, name: str, part: _List) -> tuple[int, ...]:
        text = self._parts.get(name)
        if text is None:
            return ()
        found = set()
        for item in text.split(","):
            number = int(item) if re.fullmatch("[+-]?[0-9]{1,4}", item) else None
            signed = part.signed or not item.startswith(("+", "-"))
            if number is None or not signed or not part.low <= abs(number) <= part.high:
                either = f", or between -{part.high} and -{part.low}" if part.signed else ""
                self._wrong(name, item, f"is no number between {part.low} and {part.high}{either}", part.example)
            found.add(number)
        return tuple(sorted(found))

    def _weekdays(self) -> tuple[tuple[int, int], ...]:
        text = self._parts.get("BYDAY")
        if text is None:
            return ()
        found = set()
        for item in text.split(","):
            shape = _WEEKDAY.fullmatch(item)
            nth = int(shape.group(1) or 0) if shape else 0
            if shape is None or abs(nth) > 53 or (shape.group(1) and nth == 0):
                self._wrong("BYDAY", item, "is no day of the week", "MO, 2TU or -1FR")
            found.add((nth, WEEKDAYS.index(shape.group(2))))
        return tuple(sorted(found))

    def _week_start(self) -> int:
        name = self._parts.get("WKST", "MO")
        if name not in WEEKDAYS:
            self._wrong("WKST", name, "is no day of the week", "MO or SU")
        return WEEKDAYS.index(name)

    def _until(self) -> Stamp | None:
        text = self._parts.get("UNTIL")
        if text is None:
            return None
        stamp = read_stamp(text)
        if stamp is None or not 1970 <= date.fromordinal(stamp.day).year <= 9_998:
            self._wrong(
                "UNTIL", text, "is no date or time between the years 1970 and 9998", "20261231 or 20261231T235959Z"
            )
        return stamp

    def _wrong(self, name: str, value: str, reason: str, example: str) -> NoReturn:
        self._refuse(f"{name}: {_shown(value)!r} {reason}; right would be {example}")

    def _refuse(self, reason: str) -> NoReturn:
        raise InvalidSchedule(self._field, reason)


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_LETTERS else f"{text[:_SHOWN_LETTERS]}…"


def _nth_in_month_past_five(rule: Recurrence) -> bool:
    in_month = rule.frequency is Frequency.MONTHLY or bool(rule.months)
    return in_month and any(abs(nth) > 5 for nth, _ in rule.weekdays)


def _nothing_to_pick_from(rule: Recurrence) -> bool:
    days = (rule.months, rule.weeks, rule.year_days, rule.month_days, rule.weekdays)
    return bool(rule.positions) and not any((*days, rule.hours, rule.minutes, rule.seconds))


# The combinations that RFC 5545 does not allow, in section 3.3.10.
_FORBIDDEN: tuple[tuple[Callable[[Recurrence], bool], str], ...] = (
    (
        lambda rule: rule.count is not None and rule.until is not None,
        "COUNT and UNTIL exclude each other: give one of them",
    ),
    (
        lambda rule: bool(rule.weeks) and rule.frequency is not Frequency.YEARLY,
        "BYWEEKNO goes with FREQ=YEARLY only",
    ),
    (
        lambda rule: bool(rule.year_days) and Frequency.DAILY <= rule.frequency <= Frequency.MONTHLY,
        "BYYEARDAY does not go with FREQ=DAILY, WEEKLY or MONTHLY: use FREQ=YEARLY, or BYMONTH and BYMONTHDAY",
    ),
    (
        lambda rule: bool(rule.month_days) and rule.frequency is Frequency.WEEKLY,
        "BYMONTHDAY does not go with FREQ=WEEKLY: use FREQ=MONTHLY or DAILY",
    ),
    (
        lambda rule: any(nth for nth, _ in rule.weekdays) and rule.frequency < Frequency.MONTHLY,
        "BYDAY: a number before a day goes with FREQ=MONTHLY or YEARLY only; right would be BYDAY=MO",
    ),
    (
        lambda rule: any(nth for nth, _ in rule.weekdays) and bool(rule.weeks),
        "BYDAY: a number before a day does not go with BYWEEKNO; right would be BYDAY=MO",
    ),
    (
        _nth_in_month_past_five,
        "BYDAY: a month has no sixth of any day; right would be 1 to 5 or -1 to -5 before the day",
    ),
    (
        _nothing_to_pick_from,
        "BYSETPOS picks from what another part names: add one such as BYDAY=MO,TU,WE,TH,FR",
    ),
)
