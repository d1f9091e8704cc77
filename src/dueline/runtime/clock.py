"""Clocks. Nothing else in Dueline reads the time."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """A wall clock and a monotonic one."""

    def wall_ms(self) -> int:
        """Milliseconds since 1970 UTC by this machine's clock, which may jump. Only the embedded store takes it for the truth."""
        ...

    def monotonic_s(self) -> float:
        """Seconds that never go back and do not stop while the machine sleeps."""
        ...


class SystemClock:
    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)


class ManualClock:
    """A clock that moves when told to, for tests."""

    def __init__(self, start_ms: int = 1_767_225_600_000) -> None:
        self._now_ms = start_ms

    def wall_ms(self) -> int:
        return self._now_ms

    def monotonic_s(self) -> float:
        return self._now_ms / 1000

    def advance(self, seconds: float) -> None:
        self._now_ms += round(seconds * 1000)


class StoreTime:
    """The store's clock, as this process knows it: its own monotonic clock and an offset measured with every heartbeat.

    The estimate is never ahead of the store: the answer is taken to be as old as the whole round trip allows, and so nothing starts
    early. It may lag by one round trip.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offset_ms = float("-inf")
        self._measured = False

    def measured(self, store_ms: int) -> None:
        """Take in an answer of the store that has just arrived."""
        self._offset_ms = store_ms - self._clock.monotonic_s() * 1000
        self._measured = True

    def now_ms(self) -> int:
        assert self._measured, "the store was not asked for its time yet"
        return int(self._clock.monotonic_s() * 1000 + self._offset_ms)

    def at_ms(self, monotonic_s: float) -> int:
        """The store's time at a monotonic moment."""
        return int(monotonic_s * 1000 + self._offset_ms)
