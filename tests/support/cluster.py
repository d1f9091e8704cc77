"""Nodes driven by hand: real engine, real worker, real store, real calls; time moves only when told to.

A node here is a `Life` that is ticked instead of run. Killing one is to stop ticking it: nothing it held is given back.
"""

from __future__ import annotations

import asyncio
from itertools import count, islice

from dueline.domain.errors import LeaseLost
from dueline.domain.ids import BootId
from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.lanes import TASK
from dueline.domain.run import Run
from dueline.domain.states import LIVE
from dueline.engine.definitions import Definitions
from dueline.engine.fleet import Fleet
from dueline.engine.jobwhys import JobWhys
from dueline.engine.membership import Membership
from dueline.engine.node import Life, MakePart
from dueline.engine.operations import Operations
from dueline.engine.quotas import QuotaKeeper
from dueline.engine.shares import Shares
from dueline.engine.whys import Whys
from dueline.runtime.clock import StoreTime
from dueline.store.fleet import NewNode, Role
from dueline.store.protocol import Store
from dueline.store.shapes import RunFilter
from dueline.worker.flights import MakeCrew
from dueline.worker.options import WorkerOptions
from dueline.worker.worker import Worker
from tests.support.failing import Killed
from tests.support.stores import StoreClock, StoreUnderTest

TICK_S = 0.25
CALLS_END_S_MAX = 10.0
CALLS_POLL_S = 0.001


class SeededChance:
    """The same numbers in every run."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def entropy(self, ids: int = 1) -> bytes:
        numbers = islice(self._numbers, ids)
        return b"".join([(number * 0x9E3779B97F4A7C15 & (1 << 80) - 1).to_bytes(10, "big") for number in numbers])

    def fraction(self) -> float:
        return (next(self._numbers) * 0.6180339887498949) % 1.0


class NodeClock:
    """A machine whose clocks agree with the store's."""

    def __init__(self, store_clock: StoreClock) -> None:
        self._store_clock = store_clock

    def wall_ms(self) -> int:
        return self._store_clock.now_ms

    def monotonic_s(self) -> float:
        return self._store_clock.now_ms / 1000


class HandNode:
    def __init__(
        self,
        cluster: Cluster,
        store: Store,
        name: str,
        *,
        role: Role,
        options: WorkerOptions,
        make_crew: MakeCrew | None = None,
    ) -> None:
        self.boot_id = BootId(name)
        self.worker: Worker | None = None
        clock, chance = cluster.clock, cluster.chance

        def make_worker(membership: Membership, definitions: Definitions) -> Worker:
            self.worker = Worker(store, membership, definitions, clock, chance, options, make_crew=make_crew)
            return self.worker

        node = NewNode(boot_id=self.boot_id, role=role, host="test", pid=1, version="test")
        parts: list[MakePart] = [] if role is Role.SCHEDULER else [make_worker]
        self.life = Life(store, clock, chance, node, parts)
        self.alive = True
        self.paused = False

    async def join(self) -> HandNode:
        await self.life.membership.join()
        return self

    async def tick(self, *, calls_end: bool = True) -> None:
        """One step of everything, then, if they are waited for, the calls it started and what became of them."""
        try:
            await self.life.tick()
            if calls_end and self.worker is not None and self.worker.under_way:
                await self._calls_end(self.worker)
                await self.life.tick()
        except (Killed, LeaseLost):
            self.kill()

    async def _calls_end(self, worker: Worker) -> None:
        for _ in range(round(CALLS_END_S_MAX / CALLS_POLL_S)):
            if not worker.under_way:
                return
            await asyncio.sleep(CALLS_POLL_S)
        raise TimeoutError("a call does not end")

    def pause(self) -> None:
        """Stop in the middle of everything. Calls that were made go on."""
        self.paused = True

    async def come_back(self) -> int:
        """Wake up after a pause and try to go on: first with what the calls brought. Answers how many results were refused."""
        self.paused = False
        assert self.worker is not None
        await self._calls_end(self.worker)
        *_, report = self.worker.loops()
        await report.step()
        await self.tick()
        return self.worker.fenced_total

    def kill(self) -> None:
        """Vanish without a word. Calls that were made were made."""
        self.alive = False
        if self.worker is not None:
            self.worker.close()


class Cluster:
    """Some nodes on one store."""

    def __init__(self, under_test: StoreUnderTest) -> None:
        self.store = under_test.store
        self.store_clock = under_test.clock
        self.clock = NodeClock(under_test.clock)
        self.chance = SeededChance()
        self.nodes: list[HandNode] = []
        time = StoreTime(self.clock)
        self.quotas = QuotaKeeper(self.store, self.clock)
        self.operations = Operations(self.store, lambda: self._synchronised(time), self.chance, self.quotas)
        self.fleet = Fleet(self.store, lambda: self._synchronised(time))
        self.whys = Whys(self.store, self.fleet, lambda: self._synchronised(time))
        self.job_whys = JobWhys(self.store, self.fleet, self.whys, lambda: self._synchronised(time))
        self.shares = Shares(self.store, lambda: self._synchronised(time))

    async def add(
        self,
        name: str = "node",
        *,
        store: Store | None = None,
        role: Role = Role.ALL,
        slots: int = 100,
        labels: tuple[str, ...] = (),
        make_crew: MakeCrew | None = None,
    ) -> HandNode:
        """With `make_crew` it carries out tasks too."""
        if make_crew is not None:
            labels = (*labels, TASK)
        options = WorkerOptions(slots=slots, labels=labels, host_share=1.0)
        node = HandNode(self, store or self.store, name, role=role, options=options, make_crew=make_crew)
        self.nodes.append(node)
        return await node.join()

    async def advance(self, seconds: float, *, tick_s: float = TICK_S, calls_end: bool = True) -> None:
        """Let time pass in small steps, with every living node at work; calls take no time, unless they are not waited for."""
        for _ in range(round(seconds / tick_s)):
            await self.store_clock.advance(tick_s)
            for node in self.nodes:
                if node.alive and not node.paused:
                    await node.tick(calls_end=calls_end)

    async def runs(self) -> list[Run]:
        return await self.store.runs_page(RunFilter(tenant=DEFAULT_TENANT), before=None, limit=10_000)

    async def live_runs(self) -> list[Run]:
        return [run for run in await self.runs() if run.state in LIVE]

    def close(self) -> None:
        for node in self.nodes:
            if node.alive:
                node.kill()

    def _synchronised(self, time: StoreTime) -> StoreTime:
        time.measured(self.store_clock.now_ms, sent_s=self.clock.monotonic_s())
        return time
