"""Clocks. Nothing else in Dueline reads the time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
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
    """The store's clock, as this process knows it: its own monotonic clock and an offset measured again and again.

    An answer of the store was read between the sending and the arrival, so each measurement bounds the offset from both
    sides. The highest lower bound of the recent ones is taken: never ahead of the store, and so nothing starts early, and
    behind by no more than the quickest round trip. A store whose clock was set back breaks the bound and starts anew.
    """

    def __init__(self, clock: Clock, *, samples: int = 16) -> None:
        self._clock = clock
        self._lows_ms = deque[float](maxlen=samples)
        self._highs_ms = deque[float](maxlen=samples)
        self._offset_ms: float | None = None

    def measured(self, store_ms: int, *, sent_s: float) -> None:
        """Take in an answer of the store that has just arrived to a question sent at `sent_s`."""
        high_ms = store_ms + 1 - sent_s * 1000
        low_ms = store_ms - self._clock.monotonic_s() * 1000
        if self._offset_ms is not None and self._offset_ms > high_ms:
            self._lows_ms.clear()
            self._highs_ms.clear()
        elif self._highs_ms and low_ms > min(self._highs_ms):
            self._highs_ms.clear()
        self._lows_ms.append(low_ms)
        self._highs_ms.append(high_ms)
        self._offset_ms = max(self._lows_ms)

    def seen(self, store_ms: int, *, sent_s: float) -> None:
        """Take in a time that came with another answer. It tells nothing new, unless the store's clock was set back."""
        if self._offset_ms is not None and self._offset_ms > store_ms + 1 - sent_s * 1000:
            self.measured(store_ms, sent_s=sent_s)

    @property
    def known(self) -> bool:
        return self._offset_ms is not None

    @property
    def doubt_ms(self) -> int:
        """By how much the store may be ahead of what is known of it, but for a millisecond: what is known gets better with the next
        quick answer, and who counts a wait from now must not have it end early for that.
        """
        assert self._offset_ms is not None, "the store was not asked for its time yet"
        return max(0, int(min(self._highs_ms) - 1 - self._offset_ms))

    def now_ms(self) -> int:
        return self.at_ms(self._clock.monotonic_s())

    def until_s(self, at_ms: int) -> float:
        """How long it is from now to a time of the store, to less than its millisecond."""
        assert self._offset_ms is not None, "the store was not asked for its time yet"
        return (at_ms - self._offset_ms) / 1000 - self._clock.monotonic_s()

    def at_ms(self, monotonic_s: float) -> int:
        """The store's time at a monotonic moment."""
        assert self._offset_ms is not None, "the store was not asked for its time yet"
        return int(monotonic_s * 1000 + self._offset_ms)

    def all_at_ms(self, moments_s: Iterable[float]) -> list[int]:
        """The same for many moments."""
        offset_ms = self._offset_ms
        assert offset_ms is not None, "the store was not asked for its time yet"
        return [int(monotonic_s * 1000 + offset_ms) for monotonic_s in moments_s]
