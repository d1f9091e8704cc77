"""When a recurrence rule comes next: a search that goes to the period in question by arithmetic, however far the start lies back.

A rule by days or coarser names times on the wall clock of the zone, and the two policies say what becomes of one that the clocks jump
over or show twice. A rule by hours or finer follows real time: its interval is counted in UTC from the start, and its other parts
look at the wall clock at that instant.

The start is an occurrence only if it matches the rule. COUNT counts what the rule names: a time that the clocks jump over and that is
left out counts, one that they show twice counts once, and excluded ones count.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from dueline.domain import limits
from dueline.domain.localtime import (
    DAY_S,
    EPOCH_DAY,
    DstGap,
    DstOverlap,
    Stretch,
    stretches,
    wall_day,
    wall_time,
)
from dueline.domain.recurrence.days import LAST_DAY, RuleDays, TimesOfDay, with_start
from dueline.domain.recurrence.rules import Frequency, Recurrence, compiled_recurrence
from dueline.domain.schedule import Rule

_LAST_S = (LAST_DAY - EPOCH_DAY) * DAY_S
_PERIODS_KEPT = 8


class _Start(NamedTuple):
    """Where a rule begins, and how its zone is read."""

    at_s: int
    day: int
    second: int
    timezone: str
    gap: DstGap
    overlap: DstOverlap


class RuleTimes:
    """The occurrences of a recurrence rule."""

    single = False

    def __init__(self, rule: Rule) -> None:
        recurrence = compiled_recurrence(rule.rule)
        at_s = rule.anchor_ms // 1000
        start = _Start(at_s, *wall_time(rule.timezone, at_s), rule.timezone, rule.dst_gap, rule.dst_overlap)
        excluded_days = frozenset(rule.excluded_days)
        self._walk: _CalendarWalk | _ElapsedWalk
        if recurrence.frequency < Frequency.DAILY:
            self._walk = _ElapsedWalk(recurrence, start, excluded_days)
        else:
            self._walk = _CalendarWalk(recurrence, start, excluded_days)
        self._first_s = at_s
        self._until_s = _LAST_S
        if recurrence.until is not None and recurrence.until.second is not None:
            self._until_s = (recurrence.until.day - EPOCH_DAY) * DAY_S + recurrence.until.second
        self._excluded_s = frozenset(excluded_ms // 1000 for excluded_ms in rule.excluded_ms)

    def next_after(self, at_ms: int) -> int | None:
        """The first occurrence strictly after `at_ms`, or None when there is none any more, or none that a bounded search finds."""
        at_s = max(at_ms // 1000, self._first_s - 1)
        while at_s < self._until_s:
            found_s = self._walk.first_after(at_s)
            if found_s is None or found_s > self._until_s:
                return None
            assert found_s > at_s, "time must move on"
            if found_s not in self._excluded_s:
                return found_s * 1000
            at_s = found_s
        return None


class _CalendarWalk:
    """A rule by days or coarser: walks the days that match, period by period, and reads their times on the wall clock."""

    def __init__(self, recurrence: Recurrence, start: _Start, excluded_days: frozenset[int]) -> None:
        rule = with_start(recurrence, start.day, start.second)
        self._rule = rule
        self._start = start
        self._excluded_days = excluded_days
        self._days = RuleDays(rule, start.day)
        self._times = TimesOfDay(rule.hours, rule.minutes, rule.seconds)
        self._kept: dict[int, tuple[_Day, ...] | None] = {}
        until = rule.until
        self._until_day = until.day if until is not None and until.second is None else LAST_DAY
        self._count = _Counted(start.day - 1, rule.count or 0, None)

    def first_after(self, at_s: int) -> int | None:
        start = self._start
        found_s: int | None = None
        # The clocks may have been set back over midnight: what the day before left for its second showing lies ahead.
        for day, picked in self._days_from(max(start.day, wall_day(start.timezone, at_s) - 1)):
            last = self._last_by(day)
            if day > last[0]:
                break
            if day in self._excluded_days:
                continue
            low_s = start.second if day == start.day else 0
            high_s = last[1] + 1 if day == last[0] else DAY_S
            for part in stretches(start.timezone, day, start.gap, start.overlap):
                first_s = self._first_in(part, picked, low_s, high_s, at_s)
                if first_s is not None and (found_s is None or first_s < found_s):
                    found_s = first_s
            # And forth over midnight: by `run_before` the next day can begin before this one has ended.
            if found_s is not None and all(
                found_s <= _begins_s(part) for part in stretches(start.timezone, day + 1, start.gap, start.overlap)
            ):
                break
        return found_s

    def _last_by(self, day: int) -> tuple[int, int]:
        """The day and the second of it after which nothing comes on the wall clock, as far as a day can tell.

        COUNT is counted no further than is asked for, and never twice: this costs what has passed, not what is to come.
        """
        if self._rule.count is None or self._count.ended is not None or self._count.until >= day:
            return self._count.ended or (self._until_day, DAY_S)
        left = self._count.left
        for counted, picked in self._days_from(self._count.until + 1):
            if counted > day:
                break
            passed = self._index_from(picked, self._start.second) if counted == self._start.day else 0
            here = (self._times.count if picked is None else len(picked)) - passed
            if left <= here:
                index = passed + left - 1
                last_s = self._times.at(index) if picked is None else picked[index]
                self._count = _Counted(counted, 0, (counted, last_s))
                return counted, last_s
            left -= here
        self._count = _Counted(day, left, None)
        return self._until_day, DAY_S

    def _days_from(self, since: int) -> Iterator[_Day]:
        """The days with occurrences from one on. Ends with the calendar, or when too many periods in a row have none."""
        period = self._days.period_of(since)
        empty = 0
        while empty < limits.RULE_STEPS_MAX:
            period = self._days.period_from(period)
            days = self._period(period)
            if days is None:
                return
            for day in days:
                if day.day >= since:
                    yield day
            empty = 0 if days else empty + 1
            period += 1

    def _period(self, period: int) -> tuple[_Day, ...] | None:
        kept = self._kept
        if period in kept:
            return kept[period]
        days = self._days.days(period)
        found = None if days is None else self._picked(days)
        # Replaced rather than cleared: threads may share the times of a schedule.
        self._kept = {**self._kept, period: found} if len(self._kept) < _PERIODS_KEPT else {period: found}
        return found

    def _picked(self, days: tuple[int, ...]) -> tuple[_Day, ...]:
        """The days of a period, and of their times those that BYSETPOS picks by their place in the whole period."""
        if not self._rule.positions:
            return tuple(_Day(day, None) for day in days)
        times: dict[int, list[int]] = {}
        for place in _places(self._rule.positions, len(days) * self._times.count):
            day, index = divmod(place, self._times.count)
            times.setdefault(days[day], []).append(self._times.at(index))
        return tuple(_Day(day, tuple(seconds)) for day, seconds in times.items())

    def _first_in(
        self, part: Stretch, picked: tuple[int, ...] | None, low_s: int, high_s: int, at_s: int
    ) -> int | None:
        """The first time in a stretch of the day, within bounds on the wall clock, that lies after an instant."""
        from_s, until_s = max(part.from_s, low_s), min(part.until_s, high_s)
        if part.at_s is not None:
            return part.at_s if part.at_s > at_s and self._time_from(picked, from_s) < until_s else None
        found_s = self._time_from(picked, max(from_s, at_s + 1 - part.midnight_s))
        return part.midnight_s + found_s if found_s < until_s else None

    def _time_from(self, picked: tuple[int, ...] | None, second: int) -> int:
        if picked is None:
            return self._times.first_from(second)
        index = bisect_left(picked, second)
        return picked[index] if index < len(picked) else DAY_S

    def _index_from(self, picked: tuple[int, ...] | None, second: int) -> int:
        return self._times.index_from(second) if picked is None else bisect_left(picked, second)


class _ElapsedWalk:
    """A rule by hours or finer: windows of real time, one per interval, in which the wall clock must show what the other parts say.

    A window is the one second that lies whole intervals after the start, or the hour or minute around it where a finer part names
    times within it.
    """

    def __init__(self, recurrence: Recurrence, start: _Start, excluded_days: frozenset[int]) -> None:
        self._rule = recurrence
        self._start = start
        self._excluded_days = excluded_days
        self._days = RuleDays(recurrence, start.day)
        unit_s = {Frequency.HOURLY: 3_600, Frequency.MINUTELY: 60}.get(recurrence.frequency, 1)
        self._step_s = recurrence.interval * unit_s
        self._width_s = 1
        seconds = recurrence.seconds
        if recurrence.minutes and unit_s == 3_600:
            self._width_s = 3_600
            seconds = seconds or (start.second % 60,)
        elif recurrence.seconds and unit_s > 1:
            self._width_s = 60
        self._origin_s = start.at_s - start.second % self._width_s
        self._times = TimesOfDay(
            recurrence.hours or tuple(range(24)), recurrence.minutes or tuple(range(60)), seconds or tuple(range(60))
        )
        self._unlimited = self._width_s == 1 and self._times.count == DAY_S and not self._days.limited
        self._picks: tuple[int, list[int]] = (-1, [])
        self._held: Stretch | None = None
        self._until_s = self._last_s()
        self._counted = (0, start.at_s - 1)

    def first_after(self, at_s: int) -> int | None:
        found_s = self._rule_after(at_s, self._excluded_days)
        return found_s if found_s is not None and found_s <= self._until_s and self._counts(found_s) else None

    def _last_s(self) -> int:
        """The instant after which nothing comes by UNTIL as a date, or by the COUNT of an interval without further parts."""
        until = self._rule.until
        if until is not None and until.second is None:
            return max(map(_ends_s, stretches(self._start.timezone, until.day, DstGap.RUN_AFTER, DstOverlap.BOTH))) - 1
        if self._rule.count is not None and self._unlimited:
            return self._start.at_s + (self._rule.count - 1) * self._step_s
        return _LAST_S

    def _counts(self, found_s: int) -> bool:
        """Whether an occurrence lies within COUNT. It is counted no further than is asked for, and never twice."""
        if self._rule.count is None or self._unlimited:
            return True
        counted, at_s = self._counted
        while at_s < found_s and counted < self._rule.count:
            following_s = self._rule_after(at_s, frozenset())
            if following_s is None:
                break
            counted, at_s = counted + 1, following_s
        self._counted = (counted, at_s)
        return found_s <= at_s

    def _rule_after(self, at_s: int, excluded_days: frozenset[int]) -> int | None:
        if not self._rule.positions:
            return self._match_from(at_s + 1, excluded_days)
        from_s = at_s + 1
        for _ in range(limits.RULE_STEPS_MAX):
            match_s = self._match_from(from_s, excluded_days)
            if match_s is None:
                return None
            window_s = match_s - (match_s - self._origin_s) % self._step_s
            for picked_s in self._picked(window_s):
                if picked_s > at_s and wall_day(self._start.timezone, picked_s) not in excluded_days:
                    return picked_s
            from_s = window_s + self._step_s
        return None

    def _picked(self, window_s: int) -> list[int]:
        """What BYSETPOS picks from a window, by the place among all that match in it."""
        if self._picks[0] != window_s:
            matches: list[int] = []
            match_s = self._match_from(window_s, frozenset())
            while match_s is not None and match_s < window_s + self._width_s:
                matches.append(match_s)
                match_s = self._match_from(match_s + 1, frozenset())
            self._picks = (window_s, [matches[place] for place in _places(self._rule.positions, len(matches))])
        return self._picks[1]

    def _match_from(self, from_s: int, excluded_days: frozenset[int]) -> int | None:
        """The first second from one on that lies in a window and at which the wall clock shows what it must."""
        zone = self._start.timezone
        reached_s = self._window_from(from_s)
        if reached_s > _LAST_S:
            return None
        if self._unlimited and not excluded_days:
            return reached_s
        # What is asked next mostly lies where the last answer did. Of what the clock really shows no two stretches overlap in UTC.
        held = self._held
        if held is not None and _begins_s(held) <= from_s < _ends_s(held):
            first_s, _ = self._first_in(held, from_s, limits.RULE_TRIES_MAX)
            if first_s is not None:
                return first_s
        tries = limits.RULE_TRIES_MAX
        found_s: int | None = None
        next_day = wall_day(zone, reached_s) - 1
        until_day = next_day + limits.SEARCH_YEARS * 366
        while tries > 0 and (day := self._days.next_match(next_day, until_day)) is not None:
            next_day = day + 1
            if day in excluded_days:
                continue
            for part in stretches(zone, day, DstGap.SKIP, DstOverlap.BOTH):
                first_s, tries = self._first_in(part, from_s, tries)
                if first_s is not None and (found_s is None or first_s < found_s):
                    found_s = first_s
                    self._held = None if day in self._excluded_days else part
                reached_s = max(reached_s, _ends_s(part))
            if found_s is None:
                # Windows can lie far apart: go on where the next one is.
                reached_s = self._window_from(reached_s)
                if reached_s > _LAST_S:
                    return None
                next_day = max(next_day, wall_day(zone, reached_s) - 1)
            elif all(found_s <= _begins_s(part) for part in stretches(zone, day + 1, DstGap.SKIP, DstOverlap.BOTH)):
                break
        return found_s

    def _first_in(self, part: Stretch, from_s: int, tries: int) -> tuple[int | None, int]:
        """The first match in a stretch of a day, and the tries that are left."""
        at_s = max(from_s, part.midnight_s + part.from_s)
        until_s = _ends_s(part)
        while at_s < until_s and tries > 0:
            tries -= 1
            shown_s = part.midnight_s + self._times.first_from(at_s - part.midnight_s)
            if shown_s >= until_s:
                return None, tries
            at_s = self._window_from(shown_s)
            if at_s == shown_s:
                return at_s, tries
        return None, tries

    def _window_from(self, at_s: int) -> int:
        """The second itself if it lies in a window, else the first one of the next window."""
        into_s = (at_s - self._origin_s) % self._step_s
        return at_s if into_s < self._width_s else at_s - into_s + self._step_s


class _Counted(NamedTuple):
    """How far COUNT was counted: to the end of a day, what is left after it, and the last day and second of it where that is known."""

    until: int
    left: int
    ended: tuple[int, int] | None


class _Day(NamedTuple):
    """A day with occurrences, and their seconds of the day where not all times of the rule are meant."""

    day: int
    picked: tuple[int, ...] | None


def _places(positions: tuple[int, ...], count: int) -> list[int]:
    """The indexes, ascending, that BYSETPOS means in a set of some size."""
    places = {position - 1 if position > 0 else count + position for position in positions}
    return sorted(place for place in places if 0 <= place < count)


def _begins_s(part: Stretch) -> int:
    return part.midnight_s + part.from_s if part.at_s is None else part.at_s


def _ends_s(part: Stretch) -> int:
    return part.midnight_s + part.until_s if part.at_s is None else part.at_s
