"""What shapes a stream of occurrences: bounds, days that calendars exclude, and single occurrences left out or moved."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Literal, Protocol

from dueline.domain import limits
from dueline.domain.calendars import Calendar, next_free_day
from dueline.domain.durations import DAY_MS
from dueline.domain.ledger import SkipReason
from dueline.domain.localtime import EPOCH_DAY, DstGap, DstOverlap, instants_of, wall_day, wall_time
from dueline.domain.schedule import ChangedOccurrence, OnExcluded

_LAST_DAY = date(9_000, 1, 1).toordinal()
"""From here on no day is excluded: calendars end in the year 9999, and looking for a free day goes beyond the day that is asked for."""
_LAST_MS = (_LAST_DAY - EPOCH_DAY) * DAY_MS


class Times(Protocol):
    """A stream of instants."""

    def next_after(self, at_ms: int) -> int | None:
        """The first one strictly after `at_ms`."""
        ...


class BoundedTimes:
    """A stream between two instants, inclusive."""

    def __init__(self, times: Times, *, start_ms: int | None, end_ms: int | None) -> None:
        self._times = times
        self._before_ms = None if start_ms is None else start_ms - 1
        self._end_ms = end_ms

    def next_after(self, at_ms: int) -> int | None:
        if self._before_ms is not None and at_ms < self._before_ms:
            at_ms = self._before_ms
        next_ms = self._times.next_after(at_ms)
        return None if next_ms is None or (self._end_ms is not None and next_ms > self._end_ms) else next_ms


class ExcludedTimes:
    """A stream with days of the wall calendar that are excluded. What falls on one comes on the nearest free day instead, if asked.

    An occurrence comes at the same wall time of the other day. Where it meets another one there, they are one; so this does
    something for schedules that are sparser than daily, and a dense day is not searched further than it is worth.
    """

    def __init__(
        self,
        times: Times,
        calendars: Sequence[Calendar],
        on_excluded: OnExcluded,
        timezone: str,
        *,
        start_ms: int | None,
        end_ms: int | None,
    ) -> None:
        self._times = times
        self._calendars = calendars
        self._on_excluded = on_excluded
        self._timezone = timezone
        self._before_ms = -1 if start_ms is None else start_ms - 1
        self._end_ms = end_ms

    def next_after(self, at_ms: int) -> int | None:
        at_ms = max(at_ms, self._before_ms)
        next_ms = self._times.next_after(at_ms)
        if self._calendars and self._on_excluded is not OnExcluded.SKIP and (next_ms or at_ms) < _LAST_MS:
            for moved_ms in self._moved_near(at_ms, next_ms):
                if moved_ms > at_ms and (next_ms is None or moved_ms < next_ms):
                    next_ms = moved_ms
        if next_ms is not None and self._end_ms is not None and next_ms > self._end_ms:
            return None
        return next_ms

    def skip_reason(self, at_ms: int) -> SkipReason | None:
        return SkipReason.CALENDAR if at_ms < _LAST_MS and self._excludes(self._day(at_ms)) else None

    def excluded_until(self, at_ms: int) -> int | None:
        """The last millisecond of the excluded days around an instant that is excluded; None: they do not end so soon."""
        free = next_free_day(self._calendars, min(self._day(at_ms), _LAST_DAY), 1)
        return None if free is None else self._midnight_ms(free) - 1

    def _moved_near(self, at_ms: int, next_ms: int | None) -> Iterator[int]:
        """Occurrences moved off excluded days that may come first after an instant, given the first that is not moved."""
        if self._on_excluded is OnExcluded.AFTER:
            # They were due before the instant, in the excluded days that it lies in or that ended the day before.
            day = self._day(at_ms)
            last = day if self._excludes(day) else day - 1
        elif next_ms is None:
            return
        else:
            # They are due in the excluded days that the next one lies in, or that begin the day after it.
            day = self._day(next_ms)
            last = day if self._excludes(day) else day + 1
        if not self._excludes(last):
            return
        target = next_free_day(self._calendars, last, 1 if self._on_excluded is OnExcluded.AFTER else -1)
        if target is None:
            return
        until_ms = self._midnight_ms(self._free_day(last, 1))
        moved_ms = self._times.next_after(self._midnight_ms(self._free_day(last, -1) + 1) - 1)
        for _ in range(limits.EXCLUDED_MOVED_MAX):
            if moved_ms is None or moved_ms >= until_ms:
                return
            yield self._on_day(moved_ms, target)
            moved_ms = self._times.next_after(moved_ms)

    def _excludes(self, day: int) -> bool:
        return day < _LAST_DAY and any(calendar.excludes(day) for calendar in self._calendars)

    def _free_day(self, day: int, step: Literal[1, -1]) -> int:
        """The nearest day that is not excluded; one past the bound when there is none so near."""
        free = next_free_day(self._calendars, day, step)
        return day + step * (limits.EXCLUDED_DAYS_MAX + 1) if free is None else free

    def _day(self, at_ms: int) -> int:
        return wall_day(self._timezone, at_ms // 1000)

    def _midnight_ms(self, day: int) -> int:
        return self._instant_ms(day, 0)

    def _on_day(self, at_ms: int, day: int) -> int:
        """The same wall time on another day."""
        return self._instant_ms(day, wall_time(self._timezone, at_ms // 1000)[1]) + at_ms % 1000

    def _instant_ms(self, day: int, second: int) -> int:
        found = instants_of(self._timezone, day, second, DstGap.RUN_AFTER, DstOverlap.FIRST)
        # A day that a zone left out altogether has no seconds; it begins where the next one does.
        return found[0] * 1000 if found else self._instant_ms(day + 1, 0)


class ChangedTimes:
    """A stream of which single occurrences are left out or moved."""

    def __init__(self, times: ExcludedTimes, changed: Sequence[ChangedOccurrence]) -> None:
        self._times = times
        self._left_out = {one.at_ms: one for one in changed}
        self._added = sorted({one.moved_to_ms for one in changed if one.moved_to_ms is not None})

    def next_after(self, at_ms: int) -> int | None:
        next_ms, added_ms = self._times.next_after(at_ms), self._added_after(at_ms)
        return added_ms if next_ms is None or (added_ms is not None and added_ms < next_ms) else next_ms

    def next_fire_after(self, at_ms: int) -> int | None:
        for _ in range(limits.SKIPS_SEARCHED_MAX):
            next_ms = self.next_after(at_ms)
            if next_ms is None:
                return None
            match self.skip_reason(next_ms):
                case None:
                    return next_ms
                case SkipReason.CALENDAR:
                    # All of these days is excluded, but something may have been moved there on purpose.
                    added_ms, until_ms = self._added_after(next_ms), self._times.excluded_until(next_ms)
                    if until_ms is None or (added_ms is not None and added_ms <= until_ms):
                        return added_ms
                    at_ms = max(next_ms, until_ms)
                case _:
                    at_ms = next_ms
        return None

    def skip_reason(self, at_ms: int) -> SkipReason | None:
        index = bisect_right(self._added, at_ms)
        if index and self._added[index - 1] == at_ms:
            return None
        change = self._left_out.get(at_ms)
        if change is not None:
            return SkipReason.REQUESTED if change.moved_to_ms is None else SkipReason.MOVED
        return self._times.skip_reason(at_ms)

    def _added_after(self, at_ms: int) -> int | None:
        index = bisect_right(self._added, at_ms)
        return self._added[index] if index < len(self._added) else None
