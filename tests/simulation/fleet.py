"""The processes of a simulated cluster: who is there, who comes back after a crash, who hears of what was written."""

from __future__ import annotations

from itertools import count
from math import inf
from random import Random

from dueline.store.fleet import Role
from tests.simulation.link import Network
from tests.simulation.process import SimProcess
from tests.simulation.target import SimTarget

MOST = {Role.SCHEDULER: 7, Role.WORKER: 10, Role.ALL: 4}
Layout = dict[Role, int]
"""How many processes of each role a cluster begins with. Others may join, of these roles."""


def layout_of(random: Random) -> Layout:
    """Schedulers and workers apart, as a rule; everything in each process, as `dueline serve` has it; or some of each."""
    match random.choices(["apart", "together", "mixed"], [8, 1, 1])[0]:
        case "apart":
            return {role: random.randint(1, MOST[role]) for role in (Role.SCHEDULER, Role.WORKER)}
        case "together":
            return {Role.ALL: random.randint(1, MOST[Role.ALL])}
        case _:
            return {
                Role.SCHEDULER: random.randint(1, 2),
                Role.WORKER: random.randint(1, 4),
                Role.ALL: random.randint(1, 2),
            }


class Fleet:
    def __init__(self, network: Network, target: SimTarget, layout: Layout, *, seed: str) -> None:
        self.roles = list(layout)
        self._layout = layout
        self._network = network
        self._target = target
        self._seed = seed
        self._random = Random(f"{seed}/fleet")
        self._numbers = {role: count(1) for role in layout}
        self._back: list[Role] = []
        """Whoever ended and is about to come again."""
        self._past: list[SimProcess] = []
        self.processes: list[SimProcess] = []
        self.lost_wakes = 0.0
        self.closing = False
        self.process_s = 0.0
        """Seconds of life of all processes that are over."""
        network.store.listen(self._announce)

    def begin(self) -> None:
        for role, processes in self._layout.items():
            for _ in range(processes):
                self.start(role)

    def start(self, role: Role) -> None:
        name = f"{role.value[0]}{next(self._numbers[role])}"
        process = SimProcess(
            self._network, self._target, seed=self._seed, name=name, role=role, ended=self._process_ended
        )
        self.processes.append(process)

    def size(self, role: Role) -> int:
        """How many there are, with those that are about to come again."""
        staying = [one for one in self.processes if one.role is role and not one.leaving]
        return len(staying) + self._back.count(role)

    def heal(self) -> None:
        """Nobody is paused, cut off or deaf any more."""
        for process in self.processes:
            process.go_on()
            process.link.cut_until_s = process.deaf_until_s = 0.0

    def close(self) -> None:
        """Everybody is to leave, in order."""
        self.closing = True
        for process in list(self.processes):
            if not process.stopping:
                process.drain(leaving=True)

    def remnants(self) -> list[str]:
        """Processes of which something still runs though they are over."""
        return [process.name for process in self._past if not process.over()]

    def _process_ended(self, process: SimProcess) -> None:
        self.processes.remove(process)
        self._past.append(process)
        self.process_s += self._network.loop.time() - process.began_s
        if not self.closing:
            self._network.trouble(process.name, inf)
        if process.leaving or self.closing:
            return
        self._back.append(process.role)
        delay_s = self._random.choice([0.2, 1.0, 3.0, 12.0, 25.0])
        self._network.loop.pass_on(delay_s, self._come_back, process.role)

    def _come_back(self, role: Role) -> None:
        self._back.remove(role)
        if not self.closing:
            self.start(role)

    def _announce(self, topic: str) -> None:
        for process in self.processes:
            process.hear(topic, self.lost_wakes)
