"""What the clocks do to one fire of a schedule, in a sentence, for the few fires on which they do anything."""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import date, datetime, timedelta
from itertools import product
from typing import NamedTuple, assert_never

from dueline.domain.calendar_days import days_of_month
from dueline.domain.crontab import Crontab, compiled
from dueline.domain.describing.wording import clock, day, local, shift
from dueline.domain.localtime import DAY_S, DstGap, DstOverlap, Stretch, stretches, wall_day
from dueline.domain.schedule import After, At, Cron, Every, Repeat, Rule, Schedule

_BY_CLOCK = re.compile(r"BY(HOUR|MINUTE|SECOND)=([\d,]+)", re.ASCII)
_FREQUENT = re.compile(r"FREQ=(?:SECONDLY|MINUTELY|HOURLY)")


class _Times(NamedTuple):
    """The times of day that a schedule names, sorted, and the days on which they count, where that is known."""

    seconds: tuple[int, ...]
    crontab: Crontab | None

    def within(self, part: Stretch) -> tuple[int, ...]:
        return self.seconds[bisect_left(self.seconds, part.from_s) : bisect_left(self.seconds, part.until_s)]

    def on(self, ordinal: int) -> bool:
        if self.crontab is None:
            return True
        named = date.fromordinal(ordinal)
        in_year = self.crontab.years is None or named.year in self.crontab.years
        days = days_of_month(self.crontab.days, named.year, named.month)
        return in_year and named.month in self.crontab.months and bool(days >> named.day & 1)


def note_of(schedule: Schedule, at_ms: int, previous_ms: int | None = None) -> str | None:
    """What a reader of the wall clock should know about the fire at an instant; None when there is nothing.

    A time of day that the clocks jump over or show twice is told as such. Schedules that follow real time are told by how much the
    clocks were put since the fire before, `previous_ms`, if there was one.
    """
    zone = schedule.timezone
    if zone == "UTC":
        return None
    match schedule:
        case At():
            return _shown_twice(zone, at_ms)
        case Every() | After():
            return _changed(zone, at_ms, previous_ms)
        case Cron():
            crontab = compiled(schedule.concrete)
            if crontab.interval_like:
                return _changed(zone, at_ms, previous_ms)
            # An expression can name every second of a day: they are counted out on the nights of a change only.
            jumped = None if _is_quiet(zone, at_ms) else _jumped(schedule, _times_of(crontab), at_ms)
            return jumped or _shown_twice(zone, at_ms)
        case Repeat() if schedule.clock_ms:
            return _changed(zone, at_ms, previous_ms)
        case Rule() if _FREQUENT.search(schedule.rule):
            return _changed(zone, at_ms, previous_ms)
        case Repeat() | Rule():
            times = _times_of_anchor(schedule)
            # The days of these are not known here, so a fire at its own time of day is taken for that.
            if _second_of_day(local(at_ms, zone)) in times.seconds:
                return _shown_twice(zone, at_ms)
            return _jumped(schedule, times, at_ms)
        case _:
            assert_never(schedule)


def _is_quiet(zone: str, at_ms: int) -> bool:
    """Whether the days around an instant are whole days."""
    shown_day = wall_day(zone, at_ms // 1000)
    return all(
        [(part.from_s, part.until_s) for part in stretches(zone, near, DstGap.SKIP, DstOverlap.BOTH)] == [(0, DAY_S)]
        for near in range(shown_day - 1, shown_day + 2)
    )


def _times_of(crontab: Crontab) -> _Times:
    clocks = product(crontab.hours, crontab.minutes, crontab.seconds)
    return _Times(tuple(hour * 3600 + minute * 60 + second for hour, minute, second in clocks), crontab)


def _times_of_anchor(schedule: Repeat | Rule) -> _Times:
    """The time of day of the start, or those that a rule names in its place."""
    start = local(schedule.anchor_ms, schedule.timezone)
    named: dict[str, list[int]] = {}
    if isinstance(schedule, Rule):
        named = {
            name: [int(text) for text in texts.split(",") if text] for name, texts in _BY_CLOCK.findall(schedule.rule)
        }
    clocks = product(
        named.get("HOUR", [start.hour]), named.get("MINUTE", [start.minute]), named.get("SECOND", [start.second])
    )
    return _Times(tuple(sorted(hour * 3600 + minute * 60 + second for hour, minute, second in clocks)), None)


def _jumped(schedule: Cron | Repeat | Rule, times: _Times, at_ms: int) -> str | None:
    """The times that the clocks jumped over and that come at this instant in their place."""
    zone, gap = schedule.timezone, schedule.dst_gap
    if gap is DstGap.SKIP:
        return None
    at_s = at_ms // 1000
    shown_day = wall_day(zone, at_s)
    for named_day in range(shown_day - 1, shown_day + 2):
        real = stretches(zone, named_day, DstGap.SKIP, DstOverlap.BOTH)
        for part in stretches(zone, named_day, gap, DstOverlap.BOTH):
            if part in real or not times.on(named_day):
                continue
            within = times.within(part)
            if part.at_s is None:
                within = tuple(second for second in within if part.midnight_s + second == at_s)
            elif part.at_s != at_s:
                continue
            if within:
                return _missing(zone, named_day, part, within, local(at_ms, zone))
    return None


def _missing(zone: str, named_day: int, part: Stretch, within: tuple[int, ...], comes: datetime) -> str:
    named = datetime.fromordinal(named_day)
    same_day = named.date() == comes.date()
    at = clock(_second_of_day(comes)) if same_day else f"{day(comes)} {clock(_second_of_day(comes))}"
    if (part.from_s, part.until_s) == (0, DAY_S):
        return f"{day(named)} does not exist in {zone}: comes at {at}"
    on = "on this day" if same_day else f"on {day(named)}"
    if len(within) == 1:
        return f"{clock(within[0])} does not exist {on}: comes at {at}"
    if len(within) == 2:
        return f"{clock(within[0])} and {clock(within[1])} do not exist {on}: both come at {at}"
    return f"{clock(within[0])} to {clock(within[-1])} do not exist {on}: all {len(within)} come at {at}"


def _shown_twice(zone: str, at_ms: int) -> str | None:
    shown = local(at_ms, zone)
    if _offset(shown.replace(fold=0)) <= _offset(shown.replace(fold=1)):
        return None
    which = "second" if shown.fold else "first"
    return f"{clock(_second_of_day(shown))} is shown twice on this day: this is the {which}"


def _changed(zone: str, at_ms: int, previous_ms: int | None) -> str | None:
    if previous_ms is None:
        return None
    by_s = (_offset(local(at_ms, zone)) - _offset(local(previous_ms, zone))) // timedelta(seconds=1)
    if not by_s:
        return None
    return f"clocks went {'forward' if by_s > 0 else 'back'} by {shift(by_s)} since the last fire"


def _offset(moment: datetime) -> timedelta:
    return moment.utcoffset() or timedelta()


def _second_of_day(moment: datetime) -> int:
    return moment.hour * 3600 + moment.minute * 60 + moment.second
