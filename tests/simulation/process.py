"""A simulated process: a real node, with a worker or as a scheduler, that can crash, be paused, be cut off, drain and leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context
from itertools import count
from random import Random
from typing import Any

from dueline.domain.circuits import CircuitPolicy
from dueline.domain.ids import BootId
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.engine.node import Node
from dueline.runtime.signals import Stop
from dueline.store.fleet import NewNode, Role
from dueline.worker.options import WorkerOptions
from dueline.worker.worker import Worker
from tests.simulation.clocks import MachineClock, SeededChance
from tests.simulation.link import Link, Network
from tests.simulation.loop import OWNER, Ready
from tests.simulation.target import SimExecutor, SimTarget
from tests.simulation.trace import Fault

_OPTIONS = WorkerOptions(slots=20, drain_s=5.0, circuit=CircuitPolicy(wait_s=2.0, wait_s_max=10.0))
_PATIENCE_S = 20.0
"""After so long a process that was asked to stop is asked again, and hurries."""
_SCHEDULING = ("plans", "stale", "waiting", "shards", "notices", "drain")
_HEARS = {Role.SCHEDULER: _SCHEDULING, Role.WORKER: ("cancel", "drain"), Role.ALL: (*_SCHEDULING, "cancel")}
"""What a process of a role does something about; one that executes runs also about whatever is ready."""


class SimProcess:
    def __init__(
        self,
        network: Network,
        target: SimTarget,
        *,
        seed: str,
        name: str,
        role: Role,
        ended: Callable[[SimProcess], None],
    ) -> None:
        """`ended` is told when the process is over, in order or by a crash."""
        self.name = name
        self.role = role
        self._executes = role is not Role.SCHEDULER
        self.paused = False
        self.frozen: list[Ready] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self.dead = False
        self.mortal = True
        self.leaving = False
        self.deaf_until_s = 0.0
        self.began_s = network.loop.time()
        self._network = network
        self._target = target
        self._ended = ended
        self._random = Random(f"{seed}/{name}/wakes")
        self._boots = count(1)
        self.clock = MachineClock(network.loop, Random(f"{seed}/{name}/clock"))
        self._chance = SeededChance(f"{seed}/{name}/chance")
        self.link = Link(network, self, Random(f"{seed}/{name}/link"))
        self._stop = Stop()
        self._context = Context()
        self._context.run(OWNER.set, self)
        self._main = network.loop.create_task(self._live(), context=self._context)
        self._note("starts")

    def hear(self, topic: str, lost_chance: float) -> None:
        """Have a wake-up delivered, in a moment, or not at all."""
        if topic not in _HEARS[self.role] and not (self._executes and topic.startswith("ready/")):
            return
        loop, trace = self._network.loop, self._network.trace
        if loop.time() < self.deaf_until_s:
            return
        if lost_chance and self._random.random() < lost_chance:
            trace.faults[Fault.LOST_WAKEUP] += 1
            return
        delay_s = 0.0005 + self._random.random() ** 4 * 0.05
        loop.call_later(delay_s, self._wake, topic, context=self._context)

    def crash(self) -> None:
        """All of it ends at once. What it has sent is sent; nothing is given back."""
        if self.dead:
            return
        self._note("crashes")
        self.dead = True
        self._network.loop.thaw(self)
        for task in self.tasks:
            task.cancel()
        self._ended(self)

    def stall(self, last_s: float) -> None:
        """Nothing of it runs for a while, or until somebody lets it go on."""
        if self.dead:
            return
        self._note("pauses")
        self._network.trouble(self.name, last_s)
        self.paused = True
        self._network.loop.pass_on(last_s, self.go_on)

    def go_on(self) -> None:
        if self.paused and not self.dead:
            self._note("goes on")
            self._network.loop.thaw(self)

    def drain(self, *, leaving: bool) -> None:
        """Ask it to stop; ask again when it takes long."""
        self._note("leaves" if leaving else "drains")
        self.leaving = leaving
        self._stop.ask()
        self._network.loop.pass_on(_PATIENCE_S, self._stop.ask)

    @property
    def stopping(self) -> bool:
        return self._stop.asked.is_set()

    def over(self) -> bool:
        """Whether nothing of it is left."""
        return all(task.done() for task in self.tasks)

    async def _live(self) -> None:
        parts = [self._make_worker] if self._executes else []
        node = Node(self.link.as_store(), self.clock, self._chance, new_node=self._new_node, parts=parts)
        await node.run(self._stop)
        if not self.dead:
            self.dead = True
            self._note("ends")
            self._ended(self)

    def _new_node(self) -> NewNode:
        boot_id = BootId(f"{self.name}-{next(self._boots)}")
        return NewNode(
            boot_id=boot_id, role=self.role, host=self.name, pid=1, version="simulated", slots=_OPTIONS.slots
        )

    def _make_worker(self, membership: Membership, definitions: Definitions) -> Worker:
        return Worker(
            self.link.as_store(),
            membership,
            definitions,
            self.clock,
            self._chance,
            _OPTIONS,
            make_executor=self._make_executor,
        )

    def _make_executor(self, **seams: Any) -> SimExecutor:
        trace, random = self._network.trace, self._chance.random
        return SimExecutor(**seams, process=self, target=self._target, trace=trace, random=random)

    def _wake(self, topic: str) -> None:
        for wake in self.link.wakes:
            wake(topic)

    def _note(self, what: str) -> None:
        self._network.trace.add(self._network.loop.time(), self.name, what)
