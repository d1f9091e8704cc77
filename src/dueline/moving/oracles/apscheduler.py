"""When APScheduler 3 fires a cron trigger: by its user guide.

Every field must match; the week begins on Monday with 0. A time that the clocks jump over does not come, one that is shown twice comes
twice.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from dueline.moving.oracles.walls import walk

_BOUNDS = {
    "year": (1970, 9999),
    "month": (1, 12),
    "day": (1, 31),
    "day_of_week": (0, 6),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
_FINER = ("year", "month", "day", "day_of_week", "hour", "minute", "second")
_FIRST = {"year": "*", "month": "1", "day": "1", "day_of_week": "*", "hour": "0", "minute": "0", "second": "0"}
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS = ("", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_POSITIONS = ("1st", "2nd", "3rd", "4th", "5th")


class ApschedulerOracle(NamedTuple):
    """The fields of a cron trigger that were given, as text, on the wall clock of its zone."""

    fields: Mapping[str, str]
    timezone: str
    start_s: int | None = None
    end_s: int | None = None

    def fires(self, since_s: int, until_s: int) -> Iterator[int]:
        given = [name for name in _FINER if name in self.fields]
        least = _FINER.index(given[-1]) if given else len(_FINER)
        texts = {
            name: self.fields.get(name, "*" if index < least else _FIRST[name]) for index, name in enumerate(_FINER)
        }
        begin_s = since_s if self.start_s is None else max(since_s, self.start_s - 1)
        stop_s = until_s if self.end_s is None else min(until_s, self.end_s)
        seconds = [second for second in range(60) if _fits("second", texts["second"], second)]
        allowed = {
            name: frozenset(n for n in range(_BOUNDS[name][0], _BOUNDS[name][1] + 1) if _fits(name, texts[name], n))
            for name in ("month", "day_of_week", "hour", "minute")
        }
        day = _day_rule(texts["day"])
        for minute_s, wall in walk(self.timezone, begin_s // 60 * 60 - 60, stop_s):
            if (
                wall.minute in allowed["minute"]
                and wall.hour in allowed["hour"]
                and wall.weekday() in allowed["day_of_week"]
                and wall.month in allowed["month"]
                and _fits("year", texts["year"], wall.year)
                and day(wall)
            ):
                for second in seconds:
                    if begin_s < minute_s + second <= stop_s:
                        yield minute_s + second


def _fits(name: str, text: str, value: int) -> bool:
    return any(_term_fits(name, term.strip().lower(), value) for term in text.split(","))


def _term_fits(name: str, term: str, value: int) -> bool:
    low, high = _BOUNDS[name]
    span, _, step = term.partition("/")
    if span == "*":
        begin, end = low, high
    else:
        first, dash, last = span.partition("-")
        begin = _number(name, first)
        end = _number(name, last) if dash else high if step else begin
    return begin <= value <= end and (value - begin) % int(step or 1) == 0


def _number(name: str, text: str) -> int:
    if name == "day_of_week" and text in _DAYS:
        return _DAYS.index(text)
    if name == "month" and text in _MONTHS:
        return _MONTHS.index(text)
    return int(text)


def _day_rule(text: str) -> Callable[[datetime], bool]:
    terms = [term.strip().lower() for term in text.split(",")]
    return lambda wall: any(_day_fits(term, wall) for term in terms)


def _day_fits(term: str, wall: datetime) -> bool:
    last = monthrange(wall.year, wall.month)[1]
    words = term.split()
    if words == ["last"]:
        return wall.day == last
    if len(words) == 1:
        return _term_fits("day", term, wall.day)
    if _DAYS[wall.weekday()] != words[1]:
        return False
    return wall.day + 7 > last if words[0] == "last" else _POSITIONS[(wall.day - 1) // 7] == words[0]
