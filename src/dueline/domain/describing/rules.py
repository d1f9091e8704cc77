"""What a recurrence rule means, in words, as far as words are clearer than the rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from itertools import product

from dueline.domain.describing.wording import (
    MONTH_NAMES,
    WEEKDAY_NAMES,
    clock,
    counted,
    every,
    listed,
    months,
    nth,
    ordinal,
    weekdays,
)

_UNITS = {
    "SECONDLY": "second",
    "MINUTELY": "minute",
    "HOURLY": "hour",
    "DAILY": "day",
    "WEEKLY": "week",
    "MONTHLY": "month",
    "YEARLY": "year",
}
_DAYS = {"SU": 0, "MO": 1, "TU": 2, "WE": 3, "TH": 4, "FR": 5, "SA": 6}
_TOLD = {
    "FREQ",
    "INTERVAL",
    "COUNT",
    "UNTIL",
    "BYDAY",
    "BYMONTHDAY",
    "BYMONTH",
    "BYHOUR",
    "BYMINUTE",
    "BYSECOND",
    "WKST",
}
_BY_DAY = re.compile(r"([+-]?\d{1,2})?(SU|MO|TU|WE|TH|FR|SA)", re.ASCII)
_UNTIL = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)(\d\d)(Z?))?", re.ASCII)
_TIMES_LISTED_MAX = 6

_Parts = Mapping[str, str]


def describe_rule(rule: str, anchor: datetime) -> tuple[str, str]:
    """How often and on which days, and how it ends; `anchor` is the start on the wall clock, which gives what the rule leaves out."""
    text = rule.strip().removeprefix("RRULE:")
    parts = dict(part.partition("=")[::2] for part in text.split(";"))
    try:
        return _sentence(parts, anchor), _end(parts)
    except (ValueError, KeyError, IndexError):
        # Rules say more than a sentence can: those are told as they are.
        return f"By the recurrence rule {text}", ""


def _sentence(parts: _Parts, anchor: datetime) -> str:
    unit = _UNITS[parts["FREQ"]]
    if not parts.keys() <= _TOLD:
        raise ValueError("says more than a sentence")
    interval = int(parts.get("INTERVAL", "1"))
    if parts.get("WKST", "MO") != "MO" and unit == "week" and interval > 1:
        raise ValueError("depends on where weeks begin")
    clauses = [every(counted(interval, unit)), _days(parts, unit, anchor)]
    if unit in ("second", "minute", "hour"):
        if parts.keys() & {"BYHOUR", "BYMINUTE", "BYSECOND"}:
            raise ValueError("crosses steps with times")
    else:
        clauses.append(f"at {_times(parts, anchor)}")
    return " ".join(clause for clause in clauses if clause)


def _times(parts: _Parts, anchor: datetime) -> str:
    hours = _numbers(parts, "BYHOUR") or [anchor.hour]
    minutes = _numbers(parts, "BYMINUTE") or [anchor.minute]
    seconds = _numbers(parts, "BYSECOND") or [anchor.second]
    if len(hours) * len(minutes) * len(seconds) > _TIMES_LISTED_MAX:
        raise ValueError("has more times than a sentence")
    return listed(
        clock(hour * 3600 + minute * 60 + second) for hour, minute, second in product(hours, minutes, seconds)
    )


def _days(parts: _Parts, unit: str, anchor: datetime) -> str:
    in_months = _numbers(parts, "BYMONTH")
    dates = _numbers(parts, "BYMONTHDAY")
    days = [_by_day(text) for text in parts.get("BYDAY", "").split(",") if text]
    within = f" in {months(in_months)}" if in_months else ""
    of = f" of {months(in_months)}" if in_months else " of the month"
    if dates and (unit == "week" or (unit == "year" and not in_months)):
        raise ValueError("counts days in something else than its unit")
    if dates and days:
        if any(number for number, _ in days):
            raise ValueError("counts days in two ways")
        return f"on {_plain(days)} that is also {_dates(dates)}{of}"
    if dates:
        return f"on {_dates(dates)}{of}"
    if any(number for number, _ in days):
        if unit not in ("month", "year") or not all(number for number, _ in days):
            raise ValueError("counts days in something else than months and years")
        counted_days = listed(f"the {nth(number)} {WEEKDAY_NAMES[weekday]}" for number, weekday in days)
        return f"on {counted_days}{of if in_months or unit == 'month' else ' of the year'}"
    if days:
        return f"on {_plain(days)}{within}"
    return _days_of_anchor(unit, anchor, in_months, of) or within.lstrip()


def _days_of_anchor(unit: str, anchor: datetime, in_months: list[int], of: str) -> str:
    """What a rule leaves to its start."""
    match unit:
        case "week" if in_months:
            return f"on {WEEKDAY_NAMES[anchor.isoweekday() % 7]} in {months(in_months)}"
        case "week":
            return f"on {WEEKDAY_NAMES[anchor.isoweekday() % 7]}"
        case "month":
            return f"on the {ordinal(anchor.day)}{of}"
        case "year" if in_months:
            return f"on the {ordinal(anchor.day)}{of}"
        case "year":
            return f"on {anchor.day} {MONTH_NAMES[anchor.month - 1]}"
        case _:
            return ""


def _dates(dates: list[int]) -> str:
    ahead = [f"the {ordinal(number)}" for number in dates if number > 0]
    back = [
        "the last day" if number == -1 else f"the {ordinal(-number - 1)} day before the last day"
        for number in dates
        if number < 0
    ]
    return listed(ahead + back)


def _plain(days: list[tuple[int, int]]) -> str:
    return listed(weekdays({weekday for _, weekday in days}))


def _by_day(text: str) -> tuple[int, int]:
    match = _BY_DAY.fullmatch(text)
    if match is None:
        raise ValueError("is no day")
    return int(match[1] or 0), _DAYS[match[2]]


def _numbers(parts: _Parts, name: str) -> list[int]:
    return sorted(int(text) for text in parts[name].split(",")) if name in parts else []


def _end(parts: _Parts) -> str:
    if "COUNT" in parts:
        return f", {times_told(int(parts['COUNT']))}"
    if "UNTIL" not in parts:
        return ""
    match = _UNTIL.fullmatch(parts["UNTIL"])
    if match is None:
        raise ValueError("is no end")
    day = f"{int(match[3])} {MONTH_NAMES[int(match[2]) - 1]} {int(match[1])}"
    if match[4] is None:
        return f", until {day}"
    return (
        f", until {day} {clock(int(match[4]) * 3600 + int(match[5]) * 60 + int(match[6]))}{' UTC' if match[7] else ''}"
    )


def times_told(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
