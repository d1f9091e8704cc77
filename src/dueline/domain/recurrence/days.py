"""Which days and which times of day a recurrence rule means: the days of a year, month, week or day, found without looking at others."""

from __future__ import annotations

from bisect import bisect_left
from calendar import isleap, monthrange
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from itertools import chain

from msgspec.structs import replace

from dueline.domain.localtime import DAY_S
from dueline.domain.recurrence.rules import Frequency, Recurrence

LAST_YEAR = 9_998
"""The last year that Python's dates can tell, less one for the zones."""
LAST_DAY = date(LAST_YEAR, 12, 31).toordinal()


def with_start(rule: Recurrence, day: int, second: int) -> Recurrence:
    """The rule with what it leaves open taken from its start, as RFC 5545 says: the day for a rule by days or coarser, and the time."""
    if rule.frequency < Frequency.DAILY:
        return rule
    start = date.fromordinal(day)
    minutes, seconds = divmod(second, 60)
    rule = replace(
        rule,
        hours=rule.hours or (minutes // 60,),
        minutes=rule.minutes or (minutes % 60,),
        seconds=rule.seconds or (seconds,),
    )
    if rule.year_days or rule.month_days or rule.weekdays:
        return rule
    match rule.frequency:
        case Frequency.YEARLY if rule.weeks:
            return replace(rule, weekdays=((0, start.weekday()),))
        case Frequency.YEARLY:
            return replace(rule, months=rule.months or (start.month,), month_days=(start.day,))
        case Frequency.MONTHLY:
            return replace(rule, month_days=(start.day,))
        case Frequency.WEEKLY:
            return replace(rule, weekdays=((0, start.weekday()),))
        case _:
            return rule


class TimesOfDay:
    """Every second of the day whose hour, minute and second are in three sorted sets. They are not listed: there may be 86,400."""

    def __init__(self, hours: tuple[int, ...], minutes: tuple[int, ...], seconds: tuple[int, ...]) -> None:
        self._hours = hours
        self._minutes = minutes
        self._seconds = seconds
        self.count = len(hours) * len(minutes) * len(seconds)

    def at(self, index: int) -> int:
        """The time of an index, from 0."""
        index, second = divmod(index, len(self._seconds))
        hour, minute = divmod(index, len(self._minutes))
        return self._hours[hour] * 3_600 + self._minutes[minute] * 60 + self._seconds[second]

    def index_from(self, second_of_day: int) -> int:
        """The index of the first time from a second of the day on, and `count` when none is left."""
        if second_of_day >= DAY_S:
            return self.count
        minute_of_day, second = divmod(second_of_day, 60)
        hour, minute = divmod(minute_of_day, 60)
        at_hour = bisect_left(self._hours, hour)
        if at_hour == len(self._hours) or self._hours[at_hour] != hour:
            return at_hour * len(self._minutes) * len(self._seconds)
        at_minute = bisect_left(self._minutes, minute)
        index = (at_hour * len(self._minutes) + at_minute) * len(self._seconds)
        if at_minute == len(self._minutes) or self._minutes[at_minute] != minute:
            return index
        return index + bisect_left(self._seconds, second)

    def first_from(self, second_of_day: int) -> int:
        """The first time from a second of the day on, and a whole day when none is left."""
        index = self.index_from(second_of_day)
        return self.at(index) if index < self.count else DAY_S


class RuleDays:
    """The days that a rule with its start filled in means, by the periods of its frequency, which count from the start's as 0."""

    def __init__(self, rule: Recurrence, first_day: int) -> None:
        self._rule = rule
        self._origin = self._unit_of(first_day)
        self._in_month = rule.frequency is Frequency.MONTHLY or bool(rule.months)
        """Whether `2TU` counts within the month or within the year."""
        self.limited = bool(rule.months or rule.weeks or rule.year_days or rule.month_days or rule.weekdays)

    def period_of(self, day: int) -> int:
        """The last period that begins no later than with a day, and at least 0."""
        return max(0, (self._unit_of(day) - self._origin) // self._rule.interval)

    def period_from(self, period: int) -> int:
        """The same period, or a later one with nothing between: months that are not meant are passed over at once."""
        rule = self._rule
        if rule.frequency is not Frequency.DAILY or not rule.months:
            return period
        day = self._origin + period * rule.interval
        reached = self._month_from(day) if day <= LAST_DAY else day
        return period if reached == day else -((self._origin - reached) // rule.interval)

    def days(self, period: int) -> tuple[int, ...] | None:
        """The days of a period that match, ascending, as ordinals. None: past the end of the calendar."""
        unit = self._origin + period * self._rule.interval
        candidates: Iterator[int] | range
        match self._rule.frequency:
            case Frequency.YEARLY:
                if unit > LAST_YEAR:
                    return None
                candidates = self._of_year(unit)
            case Frequency.MONTHLY:
                if unit // 12 > LAST_YEAR:
                    return None
                candidates = self._of_month(unit // 12, unit % 12 + 1)
            case Frequency.WEEKLY:
                first = unit * 7 + (self._rule.week_start + 1) % 7
                candidates = range(first, first + 7)
            case _:
                candidates = range(unit, unit + 1)
        if isinstance(candidates, range) and candidates[-1] > LAST_DAY:
            return None
        return tuple(sorted({day for day in candidates if self.matches(day)}))

    def next_match(self, day: int, until_day: int) -> int | None:
        """The first day that matches from one on, and not past another."""
        until_day = min(until_day, LAST_DAY)
        while day <= until_day:
            day = self._month_from(day)
            if day <= until_day and self.matches(day):
                return day
            day += 1
        return None

    def matches(self, day: int) -> bool:
        rule, when = self._rule, date.fromordinal(day)
        if rule.months and when.month not in rule.months:
            return False
        if rule.month_days:
            length = monthrange(when.year, when.month)[1]
            if when.day not in rule.month_days and when.day - length - 1 not in rule.month_days:
                return False
        if rule.year_days:
            of_year, length = _place_in_year(when)
            if of_year not in rule.year_days and of_year - length - 1 not in rule.year_days:
                return False
        if rule.weeks and not self._matches_week(day):
            return False
        return not rule.weekdays or self._matches_weekday(when)

    def _matches_week(self, day: int) -> bool:
        week, weeks = _week_of(day, self._rule.week_start)
        return week in self._rule.weeks or week - weeks - 1 in self._rule.weeks

    def _matches_weekday(self, when: date) -> bool:
        weekday = when.weekday()
        numbers = [nth for nth, meant in self._rule.weekdays if meant == weekday]
        if not numbers or 0 in numbers:
            return bool(numbers)
        place, length = (when.day, monthrange(when.year, when.month)[1]) if self._in_month else _place_in_year(when)
        return (place + 6) // 7 in numbers or -((length - place) // 7) - 1 in numbers

    def _unit_of(self, day: int) -> int:
        when = date.fromordinal(day)
        match self._rule.frequency:
            case Frequency.YEARLY:
                return when.year
            case Frequency.MONTHLY:
                return when.year * 12 + when.month - 1
            case Frequency.WEEKLY:
                # The ordinal 1 is a Monday.
                return (day - (self._rule.week_start + 1) % 7) // 7
            case _:
                return day

    def _of_year(self, year: int) -> Iterator[int]:
        """Days among which all that match in a year are, by the part that leaves the fewest."""
        rule = self._rule
        before = date(year, 1, 1).toordinal() - 1
        length = 365 + isleap(year)
        if rule.year_days:
            places = (place if place > 0 else length + 1 + place for place in rule.year_days)
            return (before + place for place in places if 1 <= place <= length)
        if rule.weekdays and not rule.month_days and not rule.weeks and not self._in_month:
            return self._weekdays_of(before, length)
        if rule.weeks:
            return self._weeks_of(before, length)
        return chain.from_iterable(self._of_month(year, month) for month in rule.months or range(1, 13))

    def _weeks_of(self, before: int, length: int) -> Iterator[int]:
        """The days of a year whose week BYWEEKNO names. At both ends of the year they may lie in a week of another."""
        first = before + 1
        while first <= before + length:
            following = first + 7 - (first - 1 - self._rule.week_start) % 7
            if self._matches_week(first):
                yield from range(first, min(following, before + length + 1))
            first = following

    def _of_month(self, year: int, month: int) -> Iterator[int]:
        rule = self._rule
        if rule.months and month not in rule.months:
            return iter(())
        before = date(year, month, 1).toordinal() - 1
        length = monthrange(year, month)[1]
        if rule.month_days:
            places = (place if place > 0 else length + 1 + place for place in rule.month_days)
            return (before + place for place in places if 1 <= place <= length)
        if rule.weekdays and self._in_month:
            return self._weekdays_of(before, length)
        return iter(range(before + 1, before + length + 1))

    def _weekdays_of(self, before: int, length: int) -> Iterator[int]:
        """The days that BYDAY names in a month or a year, given the day before it and its length."""
        for nth, weekday in self._rule.weekdays:
            first = 1 + (weekday - before) % 7
            if nth == 0:
                yield from range(before + first, before + length + 1, 7)
            else:
                place = first + 7 * (nth - 1) if nth > 0 else first + (length - first) // 7 * 7 + 7 * (nth + 1)
                if 1 <= place <= length:
                    yield before + place

    def _month_from(self, day: int) -> int:
        """The day, or the first one of the next month that is meant."""
        months = self._rule.months
        if not months:
            return day
        when = date.fromordinal(day)
        if when.month in months:
            return day
        later = [month for month in months if month > when.month]
        year, month = (when.year, later[0]) if later else (when.year + 1, months[0])
        return date(year, month, 1).toordinal()


def _place_in_year(when: date) -> tuple[int, int]:
    """Which day of its year it is, from 1, and how many the year has."""
    return when.toordinal() - date(when.year, 1, 1).toordinal() + 1, 365 + isleap(when.year)


@lru_cache(maxsize=1_024)
def _weeks_in(year: int, week_start: int) -> int:
    # The week of 28 December has four days in the year at least, the next one three at most.
    return _numbered(date(year, 12, 28).toordinal(), week_start)[1]


def _week_of(day: int, week_start: int) -> tuple[int, int]:
    """The number of the week that a day lies in, and how many weeks that week's year has.

    A week belongs to the year that has four days of it or more, which is the year of its fourth day.
    """
    year, week = _numbered(day, week_start)
    return week, _weeks_in(year, week_start)


def _numbered(day: int, week_start: int) -> tuple[int, int]:
    fourth = date.fromordinal(day - (day - 1 - week_start) % 7 + 3)
    return fourth.year, (_place_in_year(fourth)[0] - 1) // 7 + 1
