"""The clocks and the chance of simulated machines: all from the loop's time and one seed."""

from __future__ import annotations

from collections import deque
from random import Random

from dueline.domain.ids import ENTROPY_BYTES
from tests.simulation.loop import VirtualLoop

START_MS = 1_767_225_600_000
"""Where the store's clock begins: the first millisecond of 2026."""
_SHOWN_S = 45.0
"""For so long after the store's clock was set back, somebody may still go by what it showed before: while every answer is slow, nobody can
tell, and what was measured before counts for sixteen beats."""


class MachineClock:
    """A machine's clocks: the wall is wrong and may be set, the monotonic one began somewhere and runs a little fast or slow."""

    def __init__(self, loop: VirtualLoop, random: Random) -> None:
        self._loop = loop
        self._wall_off_ms = random.uniform(-3_600_000, 3_600_000)
        self._began_s = random.uniform(10, 100_000)
        self._rate = 1 + random.uniform(-2e-5, 2e-5)

    def wall_ms(self) -> int:
        return START_MS + int(self._loop.time() * 1000 + self._wall_off_ms)

    def monotonic_s(self) -> float:
        return self._began_s + self._loop.time() * self._rate

    def step(self, by_ms: float) -> None:
        self._wall_off_ms += by_ms


class StoreClock:
    """The clock that everybody goes by. It can be set, and remembers what it has shown."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._off_ms = 0
        self._set_back: deque[tuple[float, int]] = deque(maxlen=8)
        self.steps: list[tuple[float, int]] = []
        """When it was set, and by how much."""

    def wall_ms(self) -> int:
        return START_MS + int(self._loop.time() * 1000) + self._off_ms

    def monotonic_s(self) -> float:
        return self._loop.time()

    def step(self, by_ms: int) -> None:
        now_s = self._loop.time()
        if by_ms < 0:
            self._set_back.append((now_s, self.latest_ms()))
        self.steps.append((now_s, by_ms))
        self._off_ms += by_ms

    def latest_ms(self) -> int:
        """The latest time that anybody may take it for."""
        now_s = self._loop.time()
        shown = [ms + int((now_s - at_s) * 1000) for at_s, ms in self._set_back if now_s - at_s <= _SHOWN_S]
        return max([self.wall_ms(), *shown])


class SeededChance:
    """Chance of one process."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def entropy(self) -> bytes:
        return self.random.randbytes(ENTROPY_BYTES)

    def fraction(self) -> float:
        return self.random.random()
