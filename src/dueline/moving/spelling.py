"""Sets of numbers as cron writes them, and days that must fit twice."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_RULE_DAYS = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
_WEEKS = [frozenset(range(first, min(first + 7, 32))) for first in range(1, 32, 7)]
"""The dates of the first, second … fifth of every day of the week."""


class Times(msgspec.Struct, frozen=True, kw_only=True):
    """When something fires, as sets of numbers; Sunday is 0. None: always. All of them must fit."""

    seconds: frozenset[int] = frozenset({0})
    minutes: frozenset[int]
    hours: frozenset[int]
    dates: frozenset[int] | None = None
    months: frozenset[int] | None = None
    weekdays: frozenset[int] | None = None
    years: str = "*"
    hours_count_on: bool = False
    """Whether the hours were written as a star, with or without a step: such times follow real time."""
    last_date: bool = False
    """Whether the last day of a month fits besides the dates."""
    nth: tuple[str, ...] = ()
    """Days such as `FRI#3` and `FRIL` that fit besides the dates. Where there are some, there are no weekdays."""


def schedule_of(times: Times, zone: str) -> dict[str, Any]:
    """A schedule of exactly these times: a cron expression where one can say it, otherwise a recurrence rule."""
    date, weekday = _days(times)
    if date is None or weekday is None:
        return {"rrule": _rule(times), "timezone": zone}
    fields = [
        spelt(times.minutes, 0, 59, star=True),
        spelt(times.hours, 0, 23, star=times.hours_count_on),
        date,
        "*" if times.months is None else spelt(times.months, 1, 12, star=False),
        weekday,
    ]
    if times.seconds != frozenset({0}) or times.years != "*":
        fields.insert(0, spelt(times.seconds, 0, 59, star=True))
    if times.years != "*":
        fields.append(times.years)
    return {"cron": " ".join(fields), "timezone": zone}


def spelt(numbers: Iterable[int], low: int, high: int, *, star: bool) -> str:
    """Numbers as a field: `*` for all of them, `*/15` where `star` allows it, otherwise ranges and a list."""
    found = sorted(numbers)
    if star:
        for step in range(1, high - low + 1):
            if found == list(range(low, high + 1, step)) and (step == 1 or len(found) > 2):
                return "*" if step == 1 else f"*/{step}"
    runs: list[list[int]] = []
    for number in found:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(_run(run) for run in runs)


def weekdays_spelt(days: Iterable[int]) -> str:
    """Days of the week by their names, from Monday on."""
    found = sorted({day % 7 or 7 for day in days})
    if len(found) == 7:
        return "*"
    runs = spelt(found, 1, 7, star=False).split(",")
    return ",".join("-".join(WEEKDAYS[int(end) % 7] for end in run.split("-")) for run in runs)


def _run(run: list[int]) -> str:
    if len(run) > 2:
        return f"{run[0]}-{run[-1]}"
    return ",".join(str(number) for number in run)


def _days(times: Times) -> tuple[str | None, str | None]:
    """The two fields for days; None where cron would take days that fit either."""
    weekday = "*" if times.weekdays is None else weekdays_spelt(times.weekdays)
    if times.dates is None:
        return "*", weekday
    dates = ",".join(part for part in (spelt(times.dates, 1, 31, star=False), "L" if times.last_date else "") if part)
    if times.nth:
        # Cron takes a day that fits either of two fields, which is what a list of days means.
        return dates or "*", ",".join(times.nth)
    if weekday == "*":
        return dates, "*"
    weeks = [number for number, week in enumerate(_WEEKS, 1) if week <= times.dates]
    if not times.last_date and frozenset().union(*(_WEEKS[number - 1] for number in weeks)) == times.dates:
        days = sorted(times.weekdays or ())
        return "*", ",".join(f"{WEEKDAYS[day]}#{number}" for number in weeks for day in days)
    return None, None


def _rule(times: Times) -> str:
    """A rule in which dates and days of the week must both fit."""
    dates = [*sorted(times.dates or ()), *([-1] if times.last_date else [])]
    parts = {
        "FREQ": "DAILY",
        "BYMONTH": _listed(sorted(times.months or ())),
        "BYMONTHDAY": _listed(dates),
        "BYDAY": ",".join(_RULE_DAYS[day] for day in sorted(times.weekdays or ())),
        "BYHOUR": _listed(sorted(times.hours)),
        "BYMINUTE": _listed(sorted(times.minutes)),
        "BYSECOND": _listed(sorted(times.seconds)),
    }
    return ";".join(f"{name}={value}" for name, value in parts.items() if value)


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(str(number) for number in numbers)
