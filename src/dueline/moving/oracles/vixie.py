"""When Vixie cron, as Debian and cronie ship it, runs an entry: by its manual pages crontab(5) and cron(8)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from dueline.moving.oracles.walls import MINUTE, walk, wall_at

_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_CORRECTION = timedelta(hours=3)
"""A larger step of the clock is taken for a correction of it, and nothing is made up for."""


class VixieOracle(NamedTuple):
    """Five fields or a nickname, on the wall clock of the machine that cron runs on."""

    expression: str
    timezone: str

    def fires(self, since_s: int, until_s: int) -> Iterator[int]:
        fields = _NICKNAMES.get(self.expression.lower(), self.expression).split()
        # Entries that count minutes or hours follow the clock, whatever it does.
        follows = fields[0].startswith("*") or fields[1].startswith("*")
        handled = wall_at(self.timezone, since_s // 60 * 60)
        entry = _Entry(fields)
        for at_s, wall in walk(self.timezone, since_s, until_s):
            if follows:
                if entry.matches(wall):
                    yield at_s
                continue
            step = wall - handled
            if step <= timedelta(0) and -step < _CORRECTION:
                # Set back: what has run does not run again.
                continue
            # Set forth: what was jumped over runs at once.
            missed = handled + MINUTE if step < _CORRECTION else wall
            if any(entry.matches(missed + n * MINUTE) for n in range((wall - missed) // MINUTE + 1)):
                yield at_s
            handled = wall


class _Entry:
    def __init__(self, fields: list[str]) -> None:
        self._minutes = _numbers(fields[0], 0, 59, [])
        self._hours = _numbers(fields[1], 0, 23, [])
        self._dates = _numbers(fields[2], 1, 31, [])
        self._months = _numbers(fields[3], 1, 12, ["", *_MONTHS])
        self._days = {number % 7 for number in _numbers(fields[4], 0, 7, _DAYS)}
        self._both = fields[2].startswith("*") or fields[4].startswith("*")

    def matches(self, wall: datetime) -> bool:
        if wall.minute not in self._minutes or wall.hour not in self._hours or wall.month not in self._months:
            return False
        date, day = wall.day in self._dates, wall.isoweekday() % 7 in self._days
        return (date and day) if self._both else (date or day)


def _numbers(field: str, low: int, high: int, names: list[str]) -> set[int]:
    found: set[int] = set()
    for part in field.lower().split(","):
        span, _, step = part.partition("/")
        first, _, last = ("", "", "") if span == "*" else span.partition("-")
        begin = low if span == "*" else _number(first, names)
        end = high if span == "*" else _number(last or first, names)
        found.update(range(begin, end + 1, int(step or 1)))
    return found


def _number(text: str, names: list[str]) -> int:
    return names.index(text) if text in names else int(text)
