"""What a run costs on its way, told apart by what is done with it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec

from bench.machine import Used, used_exactly
from tests.support.processes import children_of

_US = 1_000_000


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Of one run, or of one question, in microseconds: processor time of whoever asks and of the server, and how long it took."""

    ours_us: float
    server_us: float
    wall_us: float

    @property
    def cpu_us(self) -> float:
        return self.ours_us + self.server_us


def total(costs: Iterable[Cost]) -> Cost:
    """Of several things that are done one after the other."""
    ours_us, server_us, wall_us = map(
        sum, zip(*((cost.ours_us, cost.server_us, cost.wall_us) for cost in costs), strict=True)
    )
    return Cost(ours_us=ours_us, server_us=server_us, wall_us=wall_us)


class Spent:
    """On one thing, so far. Whoever does it says how many times it was done."""

    def __init__(self) -> None:
        self.count = 0
        self.ours_s = 0.0
        self.server_s = 0.0
        self.wall_s = 0.0

    @property
    def cost(self) -> Cost:
        times = _US / self.count
        return Cost(ours_us=self.ours_s * times, server_us=self.server_s * times, wall_us=self.wall_s * times)


class Watch:
    """What this process and a server spend, thing by thing: all processes of the server, those included that come meanwhile."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._spent: dict[str, Spent] = {}

    @contextmanager
    def on(self, what: str) -> Iterator[Spent]:
        spent = self._spent.setdefault(what, Spent())
        before = self._used()
        ours_s, wall_s = time.process_time(), time.perf_counter()
        yield spent
        spent.wall_s += time.perf_counter() - wall_s
        spent.ours_s += time.process_time() - ours_s
        spent.server_s += self._used().since(before)

    def costs(self) -> dict[str, Cost]:
        return {what: spent.cost for what, spent in self._spent.items()}

    def _used(self) -> Used:
        return used_exactly((self._server, *children_of(self._server)))
