"""From a schedule to its instants: the only questions that the engine asks of time.

A schedule is a stream of occurrences. Some of them are known not to fire: a calendar excludes their day, or somebody asked to leave
one out. They stay in the stream, because each of them is told about.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, assert_never

from dueline.domain import cron
from dueline.domain.calendars import Calendar
from dueline.domain.ledger import SkipReason
from dueline.domain.recurrence.times import RuleTimes
from dueline.domain.repeats import RepeatTimes
from dueline.domain.schedule import After, At, Cron, Every, Repeat, Rule, Schedule
from dueline.domain.shaping import BoundedTimes, ChangedTimes, ExcludedTimes, Times


class FireTimes(Protocol):
    """The occurrences of one schedule."""

    @property
    def single(self) -> bool:
        """Whether there is one occurrence at a time. It cannot be missed: it is run however late it is."""
        ...

    @property
    def follows(self) -> bool:
        """Whether the next occurrence is known only when the run of the last one has ended."""
        ...

    @property
    def marked(self) -> bool:
        """Whether some occurrences may be known not to fire."""
        ...

    @property
    def end_ms(self) -> int | None:
        """Nothing comes after this."""
        ...

    def next_after(self, at_ms: int) -> int | None:
        """The first occurrence strictly after `at_ms`, or None when there is none any more."""
        ...

    def next_fire_after(self, at_ms: int) -> int | None:
        """The first occurrence strictly after `at_ms` that fires."""
        ...

    def skip_reason(self, at_ms: int) -> SkipReason | None:
        """Why an occurrence does not fire; None: it does."""
        ...


class _AtTimes:
    def __init__(self, schedule: At) -> None:
        self._at_ms = schedule.at_ms

    def next_after(self, at_ms: int) -> int | None:
        return self._at_ms if self._at_ms > at_ms else None


class _EveryTimes:
    """Without bounds and changes it is all there is to know of such a schedule. No two jobs need have the same, so it is made anew
    whenever it is asked for."""

    __slots__ = ("_anchor_ms", "_period_ms")
    single = follows = marked = False
    end_ms = None

    def __init__(self, schedule: Every) -> None:
        self._period_ms = schedule.period_ms
        self._anchor_ms = schedule.anchor_ms

    def next_after(self, at_ms: int) -> int | None:
        elapsed_ms = at_ms - self._anchor_ms
        if elapsed_ms < 0:
            return self._anchor_ms
        return self._anchor_ms + (elapsed_ms // self._period_ms + 1) * self._period_ms

    next_fire_after = next_after

    def skip_reason(self, _at_ms: int) -> SkipReason | None:
        return None


class _AfterTimes:
    """Only the first occurrence is known beforehand."""

    def __init__(self, schedule: After) -> None:
        self._first_ms = schedule.first_ms

    def next_after(self, at_ms: int) -> int | None:
        return self._first_ms if self._first_ms > at_ms else None


class _CronTimes:
    def __init__(self, schedule: Cron) -> None:
        self._expression = schedule.concrete
        self._timezone = schedule.timezone
        self._dst_gap = schedule.dst_gap
        self._dst_overlap = schedule.dst_overlap

    def next_after(self, at_ms: int) -> int | None:
        # Thousands of jobs share an expression, and an answer depends on the whole second only.
        return cron.next_second_after(self._expression, self._timezone, self._dst_gap, self._dst_overlap, at_ms // 1000)


class _Plain:
    """A schedule of which every occurrence fires."""

    marked = False

    def __init__(self, schedule: Schedule, times: Times) -> None:
        self.single = isinstance(schedule, At | After)
        self.follows = isinstance(schedule, After)
        self.end_ms = schedule.end_ms
        self.next_after = self.next_fire_after = times.next_after

    def skip_reason(self, _at_ms: int) -> SkipReason | None:
        return None


class _Marked:
    """A schedule of which some occurrences are known not to fire."""

    marked = True

    def __init__(self, schedule: Schedule, times: ChangedTimes) -> None:
        self.single = isinstance(schedule, At | After)
        self.follows = isinstance(schedule, After)
        self.end_ms = schedule.end_ms
        self.next_after = times.next_after
        self.next_fire_after = times.next_fire_after
        self.skip_reason = times.skip_reason


def compile_schedule(schedule: Schedule, calendars: tuple[Calendar, ...] = ()) -> FireTimes:
    """The instants of a schedule that was checked when it was stored, and of the calendars that it names."""
    if (
        isinstance(schedule, Every)
        and schedule.start_ms is schedule.end_ms is None
        and not (calendars or schedule.changed)
    ):
        return _EveryTimes(schedule)
    return compile_shared(schedule, calendars)


@lru_cache(maxsize=65_536)
def compile_shared(schedule: Schedule, calendars: tuple[Calendar, ...]) -> FireTimes:
    """The same, kept: jobs share expressions, and some take long to compile."""
    times = _times_of(schedule)
    if schedule.start_ms is not None or schedule.end_ms is not None:
        times = BoundedTimes(times, start_ms=schedule.start_ms, end_ms=schedule.end_ms)
    if isinstance(schedule, After) or not (calendars or schedule.changed):
        return _Plain(schedule, times)
    excluded = ExcludedTimes(
        times,
        calendars,
        schedule.on_excluded,
        schedule.timezone,
        start_ms=schedule.start_ms,
        end_ms=schedule.end_ms,
    )
    return _Marked(schedule, ChangedTimes(excluded, schedule.changed))


def _times_of(schedule: Schedule) -> Times:
    match schedule:
        case At():
            return _AtTimes(schedule)
        case Cron():
            return _CronTimes(schedule)
        case Every():
            return _EveryTimes(schedule)
        case After():
            return _AfterTimes(schedule)
        case Repeat():
            return RepeatTimes(schedule)
        case Rule():
            return RuleTimes(schedule)
        case _:
            assert_never(schedule)
