"""When Celery's beat finds a `crontab` due: by the documentation of its fields, and the way in which it asks.

Beat remembers when it ran a task, looks for the next matching time on the wall clock, and runs it as soon as the clock shows that time
or a later one. So a time that the clocks jump over comes right after the jump, and an hour that is shown again brings nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from dueline.moving.oracles.walls import MINUTE, walk, wall_at

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_SEARCHED_MINUTES = 5 * 366 * 1_440
_NEVER = datetime.max


class CeleryOracle(NamedTuple):
    """The five arguments of `crontab`, each as text, on the wall clock of the app."""

    minute: str
    hour: str
    day_of_week: str
    day_of_month: str
    month_of_year: str
    timezone: str

    def fires(self, since_s: int, until_s: int) -> Iterator[int]:
        fields = _Fields(self)
        due = fields.next_after(wall_at(self.timezone, since_s // 60 * 60))
        for at_s, wall in walk(self.timezone, since_s, until_s):
            if wall >= due:
                yield at_s
                due = fields.next_after(wall)


class _Fields:
    """Every field must match: days of the month and days of the week as well."""

    def __init__(self, asked: CeleryOracle) -> None:
        self._minutes = _numbers(asked.minute, 0, 60)
        self._hours = _numbers(asked.hour, 0, 24)
        self._days = _numbers(asked.day_of_week, 0, 7)
        self._dates = _numbers(asked.day_of_month, 1, 31)
        self._months = _numbers(asked.month_of_year, 1, 12)

    def next_after(self, wall: datetime) -> datetime:
        for _ in range(_SEARCHED_MINUTES):
            wall += MINUTE
            if (
                wall.minute in self._minutes
                and wall.hour in self._hours
                and wall.day in self._dates
                and wall.month in self._months
                and wall.isoweekday() % 7 in self._days
            ):
                return wall
        return _NEVER


def _numbers(field: str, low: int, count: int) -> set[int]:
    """A range may run over its end and go on at its beginning; a step counts along the range."""
    everything = list(range(low, low + count))
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.strip().partition("/")
        if span == "*":
            numbers = everything
        else:
            first, _, last = span.partition("-")
            begin = everything.index(_number(first))
            end = everything.index(_number(last or first))
            numbers = everything[begin : end + 1] if begin <= end else everything[begin:] + everything[: end + 1]
        found.update(numbers[:: int(step or 1)])
    return found


def _number(text: str) -> int:
    short = text.strip().lower()[:3]
    return _DAYS.index(short) if short in _DAYS else int(text)
