"""From a schedule to its instants: `next_after` is the only question the engine asks of time."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, assert_never

from dueline.domain import cron
from dueline.domain.schedule import At, Cron, Every, Schedule


class FireTimes(Protocol):
    """The occurrences of one schedule."""

    @property
    def one_time(self) -> bool:
        """Whether there is a single occurrence. A missed one-time job is run however late it is."""
        ...

    def next_after(self, at_ms: int) -> int | None:
        """The first occurrence strictly after `at_ms`, or None when there is none any more."""
        ...


class _AtTimes:
    one_time = True

    def __init__(self, schedule: At) -> None:
        self._at_ms = schedule.at_ms

    def next_after(self, at_ms: int) -> int | None:
        return self._at_ms if self._at_ms > at_ms else None


class _EveryTimes:
    one_time = False

    def __init__(self, schedule: Every) -> None:
        self._period_ms = schedule.period_ms
        self._anchor_ms = schedule.anchor_ms

    def next_after(self, at_ms: int) -> int | None:
        elapsed_ms = at_ms - self._anchor_ms
        if elapsed_ms < 0:
            return self._anchor_ms
        return self._anchor_ms + (elapsed_ms // self._period_ms + 1) * self._period_ms


class _CronTimes:
    one_time = False

    def __init__(self, schedule: Cron) -> None:
        self._expression = schedule.concrete
        self._timezone = schedule.timezone
        self._dst_gap = schedule.dst_gap
        self._dst_overlap = schedule.dst_overlap

    def next_after(self, at_ms: int) -> int | None:
        # Thousands of jobs share an expression, and an answer depends on the whole second only.
        return cron.next_second_after(self._expression, self._timezone, self._dst_gap, self._dst_overlap, at_ms // 1000)


@lru_cache(maxsize=65_536)
def compile_schedule(schedule: Schedule) -> FireTimes:
    """The instants of a schedule that was checked when it was stored."""
    match schedule:
        case At():
            return _AtTimes(schedule)
        case Cron():
            return _CronTimes(schedule)
        case Every():
            return _EveryTimes(schedule)
        case _:
            assert_never(schedule)
