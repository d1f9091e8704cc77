"""Clears away what rows leave behind in tables where they change all the time."""

from __future__ import annotations

from collections.abc import Callable

from dueline.domain import limits
from dueline.domain.rests import Rests
from dueline.runtime.clock import Clock
from dueline.store.upkeep import UpkeepStore

_REST = 20
"""How many times as long as it takes to clear a table it is left alone: where somebody can still see what was left behind, it is gone
through in vain."""


class Cleaner:
    """Every scheduler has one, and the `first` of them does it for all."""

    def __init__(self, store: UpkeepStore, clock: Clock, *, first: Callable[[], bool]) -> None:
        self._store = store
        self._clock = clock
        self._first = first
        self._rests: dict[str, Rests] = {}

    async def step(self) -> float:
        if not self._first():
            return limits.SWEEP_OTHERS_S
        for table in await self._store.littered(least=limits.LITTER_MIN):
            rests = self._rests.setdefault(table, Rests(_REST))
            began_s = self._clock.monotonic_s()
            if rests.due(began_s):
                await self._store.clear(table)
                rests.looked(began_s, self._clock.monotonic_s())
        return limits.SWEEP_S
