"""When Amazon EventBridge invokes a `cron(…)` schedule: by its user guide.

The week begins on Sunday with 1. A time that the clocks jump over does not come, and one that is shown twice comes once.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import NamedTuple

from dueline.moving.oracles.walls import walk, wall_at

_MONTHS = ("", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("", "SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


class EventBridgeOracle(NamedTuple):
    """Six fields: minutes, hours, day-of-month, month, day-of-week, year."""

    expression: str
    timezone: str
    start_s: int | None = None
    end_s: int | None = None

    def fires(self, since_s: int, until_s: int) -> Iterator[int]:
        minute, hour, date_, month, day, year = self.expression.upper().split()
        minutes = {n for n in range(60) if _fits(minute, n, 59, ())}
        hours = {n for n in range(24) if _fits(hour, n, 23, ())}
        begin_s = since_s if self.start_s is None else max(since_s, self.start_s - 1)
        stop_s = until_s if self.end_s is None else min(until_s, self.end_s)
        days: dict[date, bool] = {}
        furthest = wall_at(self.timezone, begin_s)
        for at_s, wall in walk(self.timezone, begin_s, stop_s):
            again, furthest = wall <= furthest, max(wall, furthest)
            if again or wall.minute not in minutes or wall.hour not in hours:
                continue
            today = wall.date()
            if today not in days:
                days[today] = (
                    _fits(month, wall.month, 12, _MONTHS)
                    and _fits(year, wall.year, 2199, ())
                    and _date_fits(date_, wall)
                    and _day_fits(day, wall)
                )
            if days[today]:
                yield at_s


def _fits(field: str, value: int, high: int, names: tuple[str, ...]) -> bool:
    for term in field.split(","):
        span, slash, step = term.partition("/")
        if span in ("*", "?"):
            # A step from a star begins with the first value: 0 for times, 1 for days and months, 1970 for years.
            begin, end = {59: 0, 23: 0, 2199: 1970}.get(high, 1), high
        else:
            first, dash, last = span.partition("-")
            begin = _number(first, names)
            end = _number(last, names) if dash else high if slash else begin
        if begin <= value <= end and (value - begin) % int(step or 1) == 0:
            return True
    return False


def _number(text: str, names: tuple[str, ...]) -> int:
    return names.index(text) if text in names else int(text)


def _date_fits(field: str, wall: datetime) -> bool:
    last = monthrange(wall.year, wall.month)[1]
    for term in field.split(","):
        if term == "L":
            fits = wall.day == last
        elif term == "LW":
            fits = wall.day == max(n for n in range(1, last + 1) if _is_weekday(wall, n))
        elif term.startswith("L-"):
            fits = wall.day == last - int(term[2:])
        elif term.endswith("W"):
            wanted = int(term[:-1])
            near = [n for n in range(1, last + 1) if _is_weekday(wall, n)]
            fits = wanted <= last and wall.day == min(near, key=lambda n: abs(n - wanted))
        else:
            fits = _fits(term, wall.day, 31, ())
        if fits:
            return True
    return False


def _is_weekday(wall: datetime, day: int) -> bool:
    return wall.replace(day=day).isoweekday() <= 5


def _day_fits(field: str, wall: datetime) -> bool:
    today = wall.isoweekday() % 7 + 1
    for term in field.split(","):
        if term == "L":
            fits = today == 7
        elif term.endswith("L"):
            fits = today == _number(term[:-1], _DAYS) and (wall + timedelta(days=7)).month != wall.month
        elif "#" in term:
            number, _, nth = term.partition("#")
            fits = today == _number(number, _DAYS) and (wall.day - 1) // 7 + 1 == int(nth)
        else:
            fits = _fits(term, today, 7, _DAYS)
        if fits:
            return True
    return False
