"""Nodes that crash by chance, at any call to the store, before or after it took effect; calls that take their time on the clock that is
moved by hand; and a witness that counts what is under way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import count
from random import Random
from typing import Any, cast

import msgspec

from dueline.domain.errors import LeaseLost, StoreUnavailable
from dueline.domain.ids import BootId, JobId, job_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, Job
from dueline.engine.definitions import Definitions
from dueline.engine.membership import Membership
from dueline.engine.node import Life
from dueline.store.fleet import NewNode, Role
from dueline.store.protocol import Store
from dueline.testing.calls import Answer, Call, RecordingExecutor
from dueline.worker.options import WorkerOptions
from dueline.worker.worker import Worker
from tests.support.cluster import Cluster
from tests.support.failing import Killed
from tests.support.stores import StoreUnderTest, a_run

TICK_S = 0.25
SPARED = ("listen", "register", "beat", "leave")
"""A node that cannot say that it lives is lost, which is another story: it is told by pausing nodes."""


class Chances(msgspec.Struct):
    """Of every call to fail, of every failure to be the end of its process, and of every node to be paused at a tick."""

    fail: float = 0.03
    kill: float = 0.03
    pause: float = 0.004


class CrashingStore:
    """Passes calls on, and fails some by chance."""

    def __init__(self, store: Store, happens: Callable[[], None]) -> None:
        self._store = store
        self._happens = happens

    def __getattr__(self, name: str) -> Any:
        method: Callable[..., Awaitable[Any]] = getattr(self._store, name)
        if name in SPARED:
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._happens()
            answer = await method(*args, **kwargs)
            self._happens()
            return answer

        return call


class UnderWay(msgspec.Struct):
    """A call as its target sees it."""

    node: CrashingNode
    call: Call
    until_ms: int


class CrashingNode:
    def __init__(self, world: CrashWorld, number: int) -> None:
        self.alive = True
        self.paused_until_ms = 0
        store = cast(Store, CrashingStore(world.store, world.happens))

        def make_executor(**seams: Any) -> RecordingExecutor:
            self.executor = RecordingExecutor(**seams, calls=[], respond=lambda: lambda call: world.called(self, call))
            return self.executor

        def make_worker(membership: Membership, definitions: Definitions) -> Worker:
            options = WorkerOptions(slots=40, host_share=1.0)
            self.worker = Worker(
                store, membership, definitions, world.clock, world.chance, options, make_executor=make_executor
            )
            return self.worker

        node = NewNode(boot_id=BootId(f"n{number}"), role=Role.ALL, host="test", pid=1, version="test")
        self.life = Life(store, world.clock, world.chance, node, [make_worker])

    async def tick(self) -> None:
        try:
            self.executor.deliver_ended()
            await self.life.tick()
            await self.life.stir()
        except (Killed, LeaseLost):
            self.alive = False
            self.worker.close()


class CrashWorld(Cluster):
    """A few nodes; whichever dies is followed by another."""

    def __init__(self, under_test: StoreUnderTest, seed: int, *, size: int = 3) -> None:
        super().__init__(under_test)
        self.random = Random(seed)
        self.chances = Chances()
        self.crashes = 0
        self.crashers: list[CrashingNode] = []
        self.started: list[tuple[int, Call]] = []
        self.too_many: list[str] = []
        self._size = size
        self._numbers = count(1)
        self._under_way: list[UnderWay] = []
        self._bounds: dict[str, list[tuple[str, int]]] = {}

    @property
    def now_ms(self) -> int:
        return self.store_clock.now_ms

    async def define(self, execution: Execution, bounds: list[tuple[str, int]], **fields: Any) -> Job:
        """A job that runs when asked to; `bounds` are names of what it shares with others, and how many of those may be under way."""

        def definition(job_id: JobId, _now_ms: int) -> Definition:
            self._bounds[job_text(job_id)] = bounds
            return Definition(name=job_text(job_id), execution=execution, schedule=None, **fields)

        return await self.operations.create_job(DEFAULT_TENANT, definition)

    async def enqueue(self, jobs: list[Job]) -> None:
        runs = [a_run(job, due_ms=self.now_ms, queue=job.definition.queue) for job in jobs]
        await self.store.enqueue(runs)

    async def tick(self) -> None:
        """Time passes, some node is paused perhaps, and all others do what they have to do."""
        await self.store_clock.advance(TICK_S)
        self.crashers = [node for node in self.crashers if node.alive]
        while len(self.crashers) < self._size:
            node = CrashingNode(self, next(self._numbers))
            await node.life.membership.join()
            self.crashers.append(node)
        for node in self.crashers:
            if self.random.random() < self.chances.pause:
                node.paused_until_ms = self.now_ms + self.random.choice([3_000, 25_000])
                self.crashes += 1
            if node.paused_until_ms <= self.now_ms:
                await node.tick()

    async def quiesce(self, *, ticks_max: int = 800) -> None:
        """Nothing fails any more, nothing comes; until everything has ended."""
        self.chances = Chances(0, 0, 0)
        for number in range(ticks_max):
            if number % 20 == 0 and not await self.live_runs():
                return
            await self.tick()

    def happens(self) -> None:
        """Whatever may happen when the store is called."""
        if self.random.random() >= self.chances.fail / 2:
            return
        self.crashes += 1
        if self.random.random() < self.chances.kill:
            raise Killed
        raise StoreUnavailable("failed on purpose")

    def called(self, node: CrashingNode, call: Call) -> Answer:
        """The target's side: it notes what is under way, and whether that is more than may be. What a node began that was lost since
        explains itself."""
        takes_ms = self.random.randint(1, 1_500)
        self._under_way = [one for one in self._under_way if one.until_ms > self.now_ms]
        self._under_way.append(UnderWay(node, call, self.now_ms + takes_ms))
        self.started.append((self.now_ms, call))
        for name, most in self.bounds_of(call):
            beside = [one for one in self._under_way if self._counts(one) and (name, most) in self.bounds_of(one.call)]
            if len(beside) > most:
                self.too_many.append(f"{name}: {len(beside)} at {self.now_ms}")
        status = 503 if self.random.random() < 0.1 else 200
        return Answer(status, takes=f"{takes_ms}ms")

    def _counts(self, one: UnderWay) -> bool:
        return one.node.alive and not one.node.paused_until_ms

    def bounds_of(self, call: Call) -> list[tuple[str, int]]:
        assert call.job_id is not None
        return self._bounds[call.job_id]
