"""When Kubernetes starts a CronJob: by the rules of the Go library that reads its schedules.

The wall clock is matched as it is shown: what is jumped over does not come, and what is shown twice comes twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from dueline.moving.oracles.walls import walk

_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = {
    "jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6,
    "jul": 7, "aug": 8, "sep": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_DAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}


class KubernetesOracle(NamedTuple):
    """The schedule of a CronJob, in its `timeZone` or that of the controller."""

    schedule: str
    timezone: str

    def fires(self, since_s: int, until_s: int) -> Iterator[int]:
        minute, hour, date, month, day = _MACROS.get(self.schedule, self.schedule).split()
        minutes, _ = _bits(minute, 0, 59, {})
        hours, _ = _bits(hour, 0, 23, {})
        dates, any_date = _bits(date, 1, 31, {})
        months, _ = _bits(month, 1, 12, _MONTHS)
        days, any_day = _bits(day, 0, 6, _DAYS)

        def fits(wall: datetime) -> bool:
            on_date, on_day = wall.day in dates, wall.isoweekday() % 7 in days
            return (on_date and on_day) if any_date or any_day else (on_date or on_day)

        for at_s, wall in walk(self.timezone, since_s, until_s):
            if wall.minute in minutes and wall.hour in hours and wall.month in months and fits(wall):
                yield at_s


def _bits(field: str, low: int, high: int, names: dict[str, int]) -> tuple[set[int], bool]:
    """The numbers of a field, and whether it holds a star: one with a step of two or more is none."""
    numbers: set[int] = set()
    star = False
    for term in field.lower().split(","):
        span, slash, step_text = term.partition("/")
        step = int(step_text) if slash else 1
        if span in ("*", "?"):
            begin, end = low, high
            star |= step == 1
        else:
            first, dash, last = span.partition("-")
            begin = names[first] if first in names else int(first)
            end = (names[last] if last in names else int(last)) if dash else high if slash else begin
        numbers.update(range(begin, end + 1, step))
    return numbers, star
