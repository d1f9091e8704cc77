"""The clocks and the chance of simulated machines: all from the loop's time and one seed."""

from __future__ import annotations

from random import Random

import msgspec

from dueline.domain.ids import ENTROPY_BYTES
from tests.simulation.loop import VirtualLoop

START_MS = 1_767_225_600_000
"""Where the store's clock begins: the first millisecond of 2026."""


class MachineClock:
    """A machine's clocks: the wall is wrong and may be set, the monotonic one began somewhere and runs a little fast or slow."""

    def __init__(self, loop: VirtualLoop, random: Random) -> None:
        self._loop = loop
        self._wall_off_ms = random.uniform(-3_600_000, 3_600_000)
        self._began_s = random.uniform(10, 100_000)
        self._rate = 1 + random.uniform(-2e-5, 2e-5)

    def wall_ms(self) -> int:
        return START_MS + int(self._loop.now_s * 1000 + self._wall_off_ms)

    def monotonic_s(self) -> float:
        return self._began_s + self._loop.now_s * self._rate

    def step(self, by_ms: float) -> None:
        self._wall_off_ms += by_ms


class Step(msgspec.Struct, frozen=True):
    """The store's clock was set: when, what it showed before, and by how much."""

    at_s: float
    shown_ms: int
    by_ms: int


class StoreClock:
    """The clock that everybody goes by. It can be set, and remembers what it has shown."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self._off_ms = 0
        self.steps: list[Step] = []

    def wall_ms(self) -> int:
        return START_MS + int(self._loop.now_s * 1000) + self._off_ms

    def monotonic_s(self) -> float:
        return self._loop.now_s

    def step(self, by_ms: int) -> None:
        self.steps.append(Step(self._loop.now_s, self.wall_ms(), by_ms))
        self._off_ms += by_ms

    def reached_s(self, at_ms: int) -> float:
        """When it first showed a time."""
        off_ms, since_s = 0, 0.0
        for step in self.steps:
            if step.shown_ms >= at_ms:
                break
            off_ms, since_s = off_ms + step.by_ms, step.at_s
        return max((at_ms - START_MS - off_ms) / 1000, since_s)


class Belief:
    """The latest that one process may take the store's clock for, which is never ahead of what it shows, as a rule.

    Where it was set back nobody can know before the answer to a beat that was sent after that; and then only to within what the beat took
    on its way there, because the clock may have been read at any moment of it. Until then a process may go by what it showed before.
    """

    def __init__(self, clock: StoreClock) -> None:
        self._clock = clock
        self._steps_seen = len(clock.steps)
        self._ahead_ms = 0
        self._believed_ms = 0

    def latest_ms(self) -> int:
        """At any moment until now: what was decided then may come into effect later."""
        self._follow_steps()
        return max(self._believed_ms, self._clock.wall_ms() + self._ahead_ms)

    def beat_answered(self, *, there_s: float, steps: int) -> None:
        """An answer has arrived to a beat that took so long to reach the store, whose clock had been set so many times by then."""
        self._believed_ms = self.latest_ms()
        if steps == self._steps_seen:
            self._ahead_ms = min(self._ahead_ms, int(there_s * 1000) + 1)

    def _follow_steps(self) -> None:
        for step in self._clock.steps[self._steps_seen :]:
            self._believed_ms = max(self._believed_ms, step.shown_ms + self._ahead_ms)
            self._ahead_ms = max(self._ahead_ms - step.by_ms, 0)
        self._steps_seen = len(self._clock.steps)


class SeededChance:
    """Chance of one process."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)

    def entropy(self, ids: int = 1) -> bytes:
        # Drawn one by one: what was found under a seed stays what it was.
        return b"".join([self.random.randbytes(ENTROPY_BYTES) for _ in range(ids)])

    def fraction(self) -> float:
        return self.random.random()
