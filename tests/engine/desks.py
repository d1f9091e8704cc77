"""A desk driven by hand, and workers that have nothing but it: real store, real decisions, time that moves when told to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from dueline.domain.asked_runs import AdhocRun
from dueline.domain.ids import BootId, RunId, job_text
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget, Job, TaskTarget
from dueline.domain.overlap import Overlap
from dueline.domain.run import OutcomeKind, Run
from dueline.engine.desk import Desk, GivenBack, Leased
from dueline.engine.execution.reported import Reported
from dueline.engine.execution.secrets import Secrets
from dueline.runtime.clock import StoreTime
from dueline.store.fleet import NewNode, Role
from dueline.store.protocol import Store
from dueline.store.shapes import Saved
from tests.support.cluster import Cluster
from tests.support.stores import StoreUnderTest, the_run

WAIT_S_MAX = 10.0
POLL_S = 0.002
LONG_S = 1_000.0
"""A wait that ends by what happens, or not at all: the clock stands still."""


async def still_there() -> bool:
    return False


async def until(happened: Callable[[], bool]) -> None:
    for _ in range(round(WAIT_S_MAX / POLL_S)):
        if happened():
            return
        await asyncio.sleep(POLL_S)
    raise TimeoutError


class DeskWorld(Cluster):
    """A store with one desk; more can be opened on it. Schedulers are added as to any cluster."""

    def __init__(self, under_test: StoreUnderTest) -> None:
        super().__init__(under_test)
        self.under_test = under_test
        self.desk = self.open_desk()

    def open_desk(self, store: Store | None = None) -> Desk:
        used = store or self.store
        time = StoreTime(self.clock)
        keys_of = Secrets(used, self.clock).keys_of
        return Desk(used, lambda: self._synchronised(time), self.clock, self.chance, keys_of=keys_of)

    async def register(
        self,
        *,
        desk: Desk | None = None,
        tasks: Collection[str] = (),
        queues: Collection[str] = (),
        labels: Collection[str] = (),
        takes: Collection[str] = ("task",),
    ) -> DeskWorker:
        desk = desk or self.desk
        node = NewNode(
            boot_id=desk.new_id(),
            role=Role.WORKER,
            host="far",
            pid=1,
            version="1",
            queues=tuple(queues),
            labels=tuple(sorted({*labels, *takes})),
            tasks=tuple(tasks),
            slots=10,
        )
        await desk.register(node, [])
        return DeskWorker(desk, node.boot_id)

    async def enqueue(self, task: str = "t", *, queue: str = "default", later_ms: int = 0, **fields: Any) -> RunId:
        """A run of a task; `args` are the task's, other fields those of the execution."""
        target = TaskTarget(task=task, args=fields.pop("args", {}))
        return await self._enqueue(Execution(target=target, **fields), queue=queue, later_ms=later_ms)

    async def enqueue_many(self, count: int) -> set[RunId]:
        """Runs of a task, written at once."""
        adhoc = AdhocRun(execution=Execution(target=TaskTarget(task="t")))
        return set(await self.operations.enqueue(DEFAULT_TENANT, [adhoc] * count))

    async def enqueue_call(self, target: HttpTarget, **fields: Any) -> RunId:
        return await self._enqueue(Execution(target=target, **fields), queue="default", later_ms=0)

    async def job(self, target: HttpTarget | TaskTarget, *, overlap: Overlap = Overlap.ALLOW, **fields: Any) -> Job:
        """A job that runs when asked to."""

        def define(job_id: bytes, _now_ms: int) -> Definition:
            return Definition(
                name=job_text(job_id), execution=Execution(target=target, **fields), schedule=None, overlap=overlap
            )

        return await self.operations.create_job(DEFAULT_TENANT, define)

    async def run_job(self, job: Job) -> RunId:
        return await self.operations.run_job(DEFAULT_TENANT, job.id, force=False)

    async def the_run(self, run_id: RunId) -> Run:
        return await the_run(self.store, run_id)

    async def _enqueue(self, execution: Execution, *, queue: str, later_ms: int) -> RunId:
        due_ms = self.store_clock.now_ms + later_ms
        adhoc = AdhocRun(execution=execution, queue=queue, due_ms=due_ms)
        (run_id,) = await self.operations.enqueue(DEFAULT_TENANT, [adhoc])
        return run_id


class DeskWorker:
    """One id at a desk. It remembers nothing: what it holds is said by the test."""

    def __init__(self, desk: Desk, boot_id: BootId) -> None:
        self.desk = desk
        self.boot_id = boot_id

    def at(self, desk: Desk) -> DeskWorker:
        """The same worker at another desk."""
        return DeskWorker(desk, self.boot_id)

    async def lease(
        self,
        *,
        limit: int = 10,
        wait_s: float = 0.0,
        holding: Collection[RunId] | None = None,
        left: Callable[[], Awaitable[bool]] = still_there,
    ) -> list[Leased]:
        return await self.desk.lease(self.boot_id, limit=limit, wait_s=wait_s, holding=holding, left=left)

    async def lease_one(self) -> Leased:
        (leased,) = await self.lease()
        return leased

    async def got(self) -> set[RunId]:
        """The ids of what it gets now."""
        return {leased.claim.run_id for leased in await self.lease()}

    async def waiting(
        self, *, limit: int = 10, wait_s: float = LONG_S, left: Callable[[], Awaitable[bool]] = still_there
    ) -> asyncio.Task[list[Leased]]:
        """A question that waits for an answer."""
        before = self.desk.waiting
        question = asyncio.create_task(self.lease(limit=limit, wait_s=wait_s, left=left))
        await until(lambda: self.desk.waiting > before)
        return question

    async def beat(self) -> Any:
        return await self.desk.beat(self.boot_id, busy=0, rates={})

    async def report(
        self, leased: Leased, kind: OutcomeKind | None = OutcomeKind.SUCCEEDED, **fields: Any
    ) -> set[RunId]:
        claim = leased.claim
        fields = {"token": claim.token} | fields
        return await self.desk.report(self.boot_id, [Reported(run_id=claim.run_id, kind=kind, **fields)])

    async def release(self, leased: Leased, *later: Any) -> set[RunId]:
        return await self.desk.release(self.boot_id, [GivenBack(leased.claim.run_id, leased.claim.token, *later)])

    async def save(self, leased: Leased, **fields: Any) -> set[RunId]:
        return await self.desk.save(self.boot_id, [Saved(leased.claim.run_id, leased.claim.token, **fields)])


async def ended(waiting: asyncio.Task[list[Leased]]) -> set[RunId]:
    """What a question that waited was answered, soon."""
    async with asyncio.timeout(WAIT_S_MAX):
        return {leased.claim.run_id for leased in await waiting}
