"""What every scheduler means alike: once at an instant, and at a fixed rate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from dueline.moving.oracles.walls import Oracle


class OnceOracle(NamedTuple):
    at_s: int

    def fires(self, since_s: int, until_s: int) -> Iterator[int]:
        if since_s < self.at_s <= until_s:
            yield self.at_s


class RateOracle(NamedTuple):
    """At a fixed rate from a start on, or from when it is created; up to an end, which is included."""

    period_s: float
    start_s: int | None = None
    end_s: int | None = None

    def fires(self, since_s: int, until_s: int) -> Iterator[int]:
        anchor_s = since_s if self.start_s is None else self.start_s
        turn = max(0, int((since_s - anchor_s) // self.period_s))
        stop_s = until_s if self.end_s is None else min(until_s, self.end_s)
        while (at_s := anchor_s + turn * self.period_s) <= stop_s:
            if at_s > since_s:
                yield int(at_s)
            turn += 1


class FirstOracle(NamedTuple):
    """The first fires of another, within its bounds."""

    inner: Oracle
    most: int | None = None
    start_s: int | None = None
    end_s: int | None = None

    def fires(self, since_s: int, until_s: int) -> Iterator[int]:
        begin_s = since_s if self.start_s is None else max(since_s, self.start_s - 1)
        stop_s = until_s if self.end_s is None else min(until_s, self.end_s)
        for number, at_s in enumerate(self.inner.fires(begin_s, stop_s)):
            if self.most is not None and number >= self.most:
                return
            yield at_s
