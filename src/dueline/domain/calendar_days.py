"""Which days of a month a cron expression means: the days of the month and of the week, and how the two go together."""

from __future__ import annotations

from calendar import monthrange
from functools import lru_cache

import msgspec

_WEEKS = sum(1 << 7 * week for week in range(6))


class Days(msgspec.Struct, frozen=True, kw_only=True):
    """Days of the month count from 1, days of the week from Sunday as 0; sets of them are bit masks."""

    dates: int = 0
    before_last: tuple[int, ...] = ()
    """`L` is 0, `L-3` is 3."""
    near: tuple[int, ...] = ()
    """`15W` is 15: the weekday next to it in the same month."""
    last_weekday: bool = False
    weekdays: int = 0
    nth: tuple[tuple[int, int], ...] = ()
    """`MON#2` is (1, 2)."""
    last: tuple[int, ...] = ()
    """`FRIL` is 5."""
    both: bool = True
    """Whether a day must fit both fields (one of them begins with a star or a question mark) or either."""


@lru_cache(maxsize=65_536)
def days_of_month(days: Days, year: int, month: int) -> int:
    """The days of one month that match, as a bit mask."""
    weekday, length = monthrange(year, month)
    first = (weekday + 1) % 7
    whole = (1 << length + 1) - 2
    dates = _dates(days, first, length) & whole
    weekdays = _weekdays(days, first, length) & whole
    return dates & weekdays if days.both else dates | weekdays


def _dates(days: Days, first: int, length: int) -> int:
    dates = days.dates
    for back in days.before_last:
        if back < length:
            dates |= 1 << length - back
    for day in days.near:
        if day <= length:
            dates |= 1 << _nearest_weekday(day, first, length)
    if days.last_weekday:
        dates |= 1 << _nearest_weekday(length, first, length)
    return dates


def _nearest_weekday(day: int, first: int, length: int) -> int:
    """Saturday goes to Friday and Sunday to Monday, unless that is another month."""
    match (first + day - 1) % 7:
        case 6:
            return day - 1 if day > 1 else day + 2
        case 0:
            return day + 1 if day < length else day - 2
        case _:
            return day


def _weekdays(days: Days, first: int, length: int) -> int:
    week = (days.weekdays >> first | days.weekdays << 7 - first) & 0b1111111
    found = week * _WEEKS << 1
    for weekday, number in days.nth:
        found |= 1 << 1 + (weekday - first) % 7 + 7 * (number - 1)
    for weekday in days.last:
        found |= 1 << length - (first + length - 1 - weekday) % 7
    return found
