"""How often something happens lately: an average that forgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nlargest
from math import exp
from operator import itemgetter

_FORGET_S = 10.0
"""After so long, what happened counts for a third."""
TURNS_FORGET_S = 60.0
_LEAST = 0.01
_TURNS_TOLD = 50
_SEPARATOR = "\x1f"
"""Between a queue and a tenant: neither name can have it."""


class Rates:
    """Per second, for each of some names."""

    def __init__(self, *, forget_s: float = _FORGET_S) -> None:
        self._forget_s = forget_s
        self._rates: dict[str, tuple[float, float]] = {}

    def add(self, name: str, count: int, *, now_s: float) -> None:
        rate, since_s = self._rates.get(name, (0.0, now_s))
        self._rates[name] = (self._faded(rate, now_s - since_s) + count / self._forget_s, now_s)

    def read(self, *, now_s: float) -> dict[str, float]:
        """The rates as they stand; what has not happened for long is forgotten."""
        rates = {name: self._faded(rate, now_s - since_s) for name, (rate, since_s) in self._rates.items()}
        self._rates = {name: pair for name, pair in self._rates.items() if rates[name] >= _LEAST}
        return {name: round(rate, 2) for name, rate in rates.items() if rate >= _LEAST}

    def _faded(self, rate: float, seconds: float) -> float:
        return rate * exp(-seconds / self._forget_s)


class Taken:
    """What a worker takes from queues: how much in the last seconds, and whose it was in the last minute."""

    def __init__(self) -> None:
        self._rates = Rates()
        self._turns = Rates(forget_s=TURNS_FORGET_S)

    def add(self, queue: str, tenants: Iterable[str], *, now_s: float) -> None:
        """Take in that runs were taken, each of one tenant."""
        turns = Counter(tenants)
        self._rates.add(queue, turns.total(), now_s=now_s)
        for tenant, count in turns.items():
            self._turns.add(f"{queue}{_SEPARATOR}{tenant}", count, now_s=now_s)

    def read(self, *, now_s: float) -> dict[str, float]:
        """By queue, and by queue and tenant; of the tenants, those who got most."""
        turns = nlargest(_TURNS_TOLD, self._turns.read(now_s=now_s).items(), key=itemgetter(1))
        return self._rates.read(now_s=now_s) | dict(turns)


def turns_of(rates: Mapping[str, float], queue: str) -> dict[str, float]:
    """What a worker told of one queue, by tenant."""
    start = f"{queue}{_SEPARATOR}"
    return {name.removeprefix(start): rate for name, rate in rates.items() if name.startswith(start)}
