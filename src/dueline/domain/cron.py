"""When a cron expression comes next in a zone: a search that walks matching days, not seconds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import date
from functools import lru_cache

from dueline.domain import limits
from dueline.domain.calendar_days import days_of_month
from dueline.domain.crontab import Crontab, canonical, compiled, concrete
from dueline.domain.errors import InvalidSchedule
from dueline.domain.localtime import DAY_S, DstGap, DstOverlap, Stretch, check_zone, stretches, wall_day
from dueline.domain.schedule import Cron

_YEARS = range(2, 9_999)
"""The years that Python's dates can tell, less one on each side for the zones."""
_SEARCHED_S = range(-62_000_000_000, 253_000_000_000)
"""Instants within those years."""


def check_cron(
    expression: str,
    timezone: str,
    *,
    now_ms: int,
    seed: bytes = b"",
    dst_gap: DstGap = DstGap.RUN_AFTER,
    dst_overlap: DstOverlap = DstOverlap.FIRST,
    current: Cron | None = None,
) -> Cron:
    """The schedule in canonical form, or the reason why it cannot be one.

    `H` becomes numbers by the seed. What a job has already, `current`, is not asked for anew: its last year may have passed.
    """
    text = canonical(expression)
    # Columns count in what was written, unless that is a macro, in which nothing can be wrong any more.
    spelt = concrete(text if expression.lstrip().startswith("@") else expression, seed)
    check_zone(timezone)
    schedule = Cron(
        text,
        timezone=timezone,
        dst_gap=dst_gap,
        dst_overlap=dst_overlap,
        hashed=spelt if spelt != text.upper() else "",
    )
    if schedule == current:
        return schedule
    if next_second_after(schedule.concrete, timezone, dst_gap, dst_overlap, now_ms // 1000) is None:
        raise InvalidSchedule("schedule.cron", f"{expression!r} never fires")
    return schedule


@lru_cache(maxsize=131_072)
def next_second_after(
    expression: str, timezone: str, dst_gap: DstGap, dst_overlap: DstOverlap, at_s: int
) -> int | None:
    """Milliseconds of the first match strictly after a whole second, or None when none comes within the search bound.

    A pattern whose hour counts on (`*`, `*/n`, `a/n`) matches whatever the wall clock shows, and so follows real time. The others
    are times of day, and the two policies say what becomes of one that the clocks jump over or show twice.
    """
    crontab = compiled(expression)
    if crontab.interval_like:
        dst_gap, dst_overlap = DstGap.SKIP, DstOverlap.BOTH
    if at_s not in _SEARCHED_S:
        return None
    found_s: int | None = None
    # The clocks may have been set back over midnight: what the day before left for its second showing lies ahead.
    for day in _matching_days(crontab, wall_day(timezone, at_s) - 1):
        for part in stretches(timezone, day, dst_gap, dst_overlap):
            first_s = _first_in(crontab, part, at_s)
            if first_s is not None and (found_s is None or first_s < found_s):
                found_s = first_s
        # And forth over midnight: by `run_before` the next day can begin before this one has ended.
        if found_s is not None and all(
            found_s <= _begins_s(part) for part in stretches(timezone, day + 1, dst_gap, dst_overlap)
        ):
            break
    assert found_s is None or found_s > at_s, "time must move on"
    return None if found_s is None else found_s * 1000


def _matching_days(crontab: Crontab, since: int) -> Iterator[int]:
    """The days that match, as ordinals, from one on: in the years of the expression, or as far as a search goes."""
    first = date.fromordinal(since)
    years = crontab.years
    if years is None:
        years = tuple(range(first.year, first.year + limits.SEARCH_YEARS + 1))
    for year in years[bisect_left(years, first.year) :]:
        if year not in _YEARS:
            return
        for month in crontab.months:
            if (year, month) < (first.year, first.month):
                continue
            days = days_of_month(crontab.days, year, month)
            if (year, month) == (first.year, first.month):
                days &= -1 << first.day
            before = date(year, month, 1).toordinal() - 1
            while days:
                lowest = days & -days
                yield before + lowest.bit_length() - 1
                days ^= lowest


def _begins_s(part: Stretch) -> int:
    return part.midnight_s + part.from_s if part.at_s is None else part.at_s


def _first_in(crontab: Crontab, part: Stretch, at_s: int) -> int | None:
    """The first match in a stretch that lies after an instant."""
    if part.at_s is not None:
        return part.at_s if part.at_s > at_s and _time_from(crontab, part.from_s) < part.until_s else None
    found_s = _time_from(crontab, max(part.from_s, at_s + 1 - part.midnight_s))
    return part.midnight_s + found_s if found_s < part.until_s else None


def _time_from(crontab: Crontab, second_of_day: int) -> int:
    """The first time of day that matches from a second of the day on; a whole day when none is left."""
    if second_of_day >= DAY_S:
        return DAY_S
    hours, minutes, seconds = crontab.hours, crontab.minutes, crontab.seconds
    minute_of_day, second = divmod(second_of_day, 60)
    hour, minute = divmod(minute_of_day, 60)
    at_second = bisect_left(seconds, second)
    if at_second == len(seconds):
        minute, at_second = minute + 1, 0
    at_minute = bisect_left(minutes, minute)
    if at_minute == len(minutes) or minutes[at_minute] != minute:
        at_second = 0
    if at_minute == len(minutes):
        hour, at_minute = hour + 1, 0
    at_hour = bisect_left(hours, hour)
    if at_hour == len(hours):
        return DAY_S
    if hours[at_hour] != hour:
        at_minute = at_second = 0
    return hours[at_hour] * 3_600 + minutes[at_minute] * 60 + seconds[at_second]
