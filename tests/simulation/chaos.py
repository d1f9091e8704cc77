"""What goes wrong, by chance: the weather of a seed, and one thing after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import msgspec

from dueline.domain import limits
from tests.simulation.fleet import MOST, Fleet
from tests.simulation.link import TIMEOUT_S, Network
from tests.simulation.process import SimProcess
from tests.simulation.trace import Fault


class Weather(msgspec.Struct, frozen=True):
    """How much goes wrong: of calls, of answers that matter, of wake-ups, and how often something larger does. None: never."""

    strike_chance: float
    late_chance: float
    lost_wakes: float
    gap_s: float | None


def weather_of(random: Random) -> Weather:
    if random.random() < 0.1:
        return Weather(0.0, 0.0, 0.0, None)
    return Weather(
        strike_chance=random.choice([0.0, 0.0005, 0.002, 0.006]),
        late_chance=random.choice([0.0, 0.02, 0.1]),
        lost_wakes=random.choice([0.0, 0.02, 0.5]),
        gap_s=random.choice([4.0, 9.0, 25.0]),
    )


class Chaos:
    def __init__(self, network: Network, fleet: Fleet, weather: Weather, random: Random) -> None:
        self._network = network
        self._fleet = fleet
        self._weather = weather
        self._random = random
        self._deeds: dict[Fault, tuple[int, Callable[[SimProcess], bool]]] = {
            Fault.KILL: (3, self._kill),
            Fault.PAUSE: (4, self._pause),
            Fault.PARTITION: (4, self._partition),
            Fault.SLOW_STORE: (2, self._slow_store),
            Fault.DEAF: (2, self._deafen),
            Fault.WALL_STEP: (1, self._wall_step),
            Fault.STORE_FORWARD: (1, self._store_forward),
            Fault.STORE_BACK: (1, self._store_back),
            Fault.DRAIN: (3, self._drain),
            Fault.JOIN: (2, self._join),
            Fault.LEAVE: (2, self._leave),
        }

    async def rage(self, until_s: float) -> None:
        """Until then, and nothing after it; what was begun is left to `heal`."""
        loop = self._network.loop
        self._network.strike_chance = self._weather.strike_chance
        self._network.late_chance = self._weather.late_chance
        self._fleet.lost_wakes = self._weather.lost_wakes
        gap_s = self._weather.gap_s
        while gap_s is not None:
            await asyncio.sleep(self._random.expovariate(1 / gap_s))
            if loop.time() >= until_s:
                break
            self._strike()
        await asyncio.sleep(max(until_s - loop.time(), 0.0))

    def heal(self) -> None:
        self._network.strike_chance = self._network.late_chance = self._network.slow_until_s = 0.0
        self._fleet.lost_wakes = 0.0
        self._fleet.heal()

    def _strike(self) -> None:
        victims = [one for one in self._fleet.processes if not one.stopping and not one.paused]
        if not victims:
            return
        faults = list(self._deeds)
        fault = self._random.choices(faults, [self._deeds[one][0] for one in faults])[0]
        victim = self._random.choice(victims)
        self._network.trace.add(self._network.loop.time(), victim.name, f"fault: {fault}")
        if self._deeds[fault][1](victim):
            self._network.trace.faults[fault] += 1

    def _kill(self, process: SimProcess) -> bool:
        process.crash()
        return True

    def _drain(self, process: SimProcess) -> bool:
        self._network.trouble(process.name, 30.0)
        process.drain(leaving=False)
        return True

    def _pause(self, process: SimProcess) -> bool:
        process.stall(self._random.choice([1.0, 5.0, 7.5, 9.0, 15.0, 40.0]))
        return True

    def _partition(self, process: SimProcess) -> bool:
        last_s = self._random.choice([1.0, 6.0, 9.0, 15.0, 40.0])
        self._network.trouble(process.name, last_s + TIMEOUT_S)
        process.link.cut_until_s = self._network.loop.time() + last_s
        return True

    def _slow_store(self, _process: SimProcess) -> bool:
        last_s = self._random.uniform(3.0, 20.0)
        self._network.trouble("", last_s + TIMEOUT_S)
        self._network.slow_until_s = self._network.loop.time() + last_s
        return True

    def _deafen(self, process: SimProcess) -> bool:
        process.deaf_until_s = self._network.loop.time() + self._random.uniform(5.0, 60.0)
        return True

    def _wall_step(self, process: SimProcess) -> bool:
        process.clock.step(self._random.choice([-86_400_000, -60_000, -900, 900, 60_000, 86_400_000]))
        return True

    def _store_forward(self, _process: SimProcess) -> bool:
        self._network.trouble("", limits.BEAT_S)
        self._network.clock.step(self._random.choice([100, 900, 4_000, 9_000, 15_000, 60_000]))
        return True

    def _store_back(self, _process: SimProcess) -> bool:
        self._network.trouble("", 1.0)
        self._network.clock.step(-self._random.choice([3, 40, 250]))
        return True

    def _join(self, _process: SimProcess) -> bool:
        role = self._random.choice(self._fleet.roles)
        if self._fleet.size(role) >= MOST[role]:
            return False
        self._fleet.start(role)
        return True

    def _leave(self, process: SimProcess) -> bool:
        if self._fleet.size(process.role) == 1:
            return False
        self._network.trouble(process.name, 30.0)
        process.drain(leaving=True)
        return True
