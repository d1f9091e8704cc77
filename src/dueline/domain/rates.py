"""How often something happens lately: an average that forgets."""

from __future__ import annotations

from math import exp

_FORGET_S = 10.0
"""After so long, what happened counts for a third."""
_LEAST = 0.01


class Rates:
    """Per second, for each of some names."""

    def __init__(self) -> None:
        self._rates: dict[str, tuple[float, float]] = {}

    def add(self, name: str, count: int, *, now_s: float) -> None:
        rate, since_s = self._rates.get(name, (0.0, now_s))
        self._rates[name] = (_faded(rate, now_s - since_s) + count / _FORGET_S, now_s)

    def read(self, *, now_s: float) -> dict[str, float]:
        """The rates as they stand; what has not happened for long is forgotten."""
        rates = {name: _faded(rate, now_s - since_s) for name, (rate, since_s) in self._rates.items()}
        self._rates = {name: pair for name, pair in self._rates.items() if rates[name] >= _LEAST}
        return {name: round(rate, 2) for name, rate in rates.items() if rate >= _LEAST}


def _faded(rate: float, seconds: float) -> float:
    return rate * exp(-seconds / _FORGET_S)
