"""Many at once at the same gates: workers that claim, end, give back and vanish, and people who change what may be, all by chance."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from random import Random

import msgspec

from dueline.domain.gates import Gate, Limit, Rate, Scope
from dueline.domain.ids import BootId, RunId
from dueline.domain.job import DEFAULT_TENANT, Concurrency, Definition, Execution, HttpTarget, Job, StartRate
from dueline.domain.lanes import PLAIN
from dueline.domain.limiting import own_gates
from dueline.domain.overlap import Overlap
from dueline.domain.run import Run
from dueline.domain.states import HeldReason, JobState, RunState
from dueline.engine.definitions import Definitions
from dueline.engine.execution.gating import Gatekeeper
from dueline.engine.execution.overlaps import settle_overlaps
from dueline.engine.execution.preparing import Preparer
from dueline.store.protocol import Store
from dueline.store.shapes import Claim, Postponed
from tests.support.cluster import Cluster
from tests.support.stores import QUEUE, TENANT, a_finish, a_reclaim, a_retry, a_run, promote, register

TICK_S = 0.02
DRAIN_ROUNDS = 400
TARGET = HttpTarget(url="http://target.test/")
SHARED = Concurrency(limit=3, key="shared")
EXECUTIONS = {
    "one": Execution(target=TARGET, concurrency=Concurrency(limit=1)),
    "rated": Execution(target=TARGET, concurrency=Concurrency(limit=2), rate=StartRate(rate=Rate(100, 1_000, 3))),
    "shared": Execution(target=TARGET, concurrency=SHARED),
    "shared too": Execution(target=TARGET, concurrency=SHARED),
    "edited": Execution(target=TARGET, concurrency=Concurrency(limit=2)),
    "free": Execution(target=TARGET),
}
FIXED = {"one": 1, "rated": 2, "shared": 3}
"""Jobs whose gates let the same through all the time."""


class Storm:
    def __init__(self, cluster: Cluster, stores: Sequence[Store], seed: int) -> None:
        self._cluster = cluster
        self._stores = stores
        self._random = Random(seed)
        self._jobs: dict[str, Job] = {}
        self._runs: list[RunId] = []
        self._under_way: Counter[bytes] = Counter()
        self._workers: list[StormWorker] = []
        self.passed = 0

    async def begin(self, *, workers: int) -> None:
        for name, execution in EXECUTIONS.items():
            overlap = Overlap.QUEUE_ALL if name == "shared too" else Overlap.ALLOW
            self._jobs[name] = await self._cluster.operations.create_job(
                DEFAULT_TENANT,
                lambda _id, _now, name=name, execution=execution, overlap=overlap: Definition(  # type: ignore[misc]
                    name=name, execution=execution, schedule=None, overlap=overlap
                ),
            )
        for number in range(workers):
            worker = StormWorker(self, self._stores[number % len(self._stores)], self._cluster, number, self._random)
            await worker.register()
            self._workers.append(worker)

    async def blow(self, *, steps: int) -> None:
        """Everybody at once for a while."""
        await self._enqueue(30)
        works = [self._repeat(worker.step, steps) for worker in self._workers]
        reapers = [self._repeat(lambda store=store: self._reap(store), steps // 4) for store in self._stores]  # type: ignore[misc]
        await asyncio.gather(
            *works, *reapers, self._repeat(self._let_time_pass, steps), self._repeat(self._meddle, steps)
        )

    async def check(self) -> None:
        """Once nobody does anything: places are those of runs under way, and nobody waits where there is room and tokens came."""
        await self._cluster.store_clock.advance(1)
        await self._reap(self._stores[0])
        await self._promote(self._stores[0])
        live = await self._live()
        names = {job.id: name.removesuffix(" too") for name, job in self._jobs.items()}
        for name, most in FIXED.items():
            gate = self.gates_of(name)[0]
            seen, _ = await self._stores[0].look_at(gate)
            assert seen.taken == self._under_way[gate.id] <= most, name
            mine = [run for run in live if run.job_id is not None and names[run.job_id] == name]
            if any(run.reason == HeldReason.CONCURRENCY for run in mine):
                assert seen.taken + sum(run.state is RunState.READY for run in mine) >= most, name

    async def end(self) -> list[Run]:
        """Nothing more comes; answers the runs that are left when nothing happens any more, and asserts that no place is."""
        await self._stores[0].delete_limit(Scope.QUEUE, QUEUE)
        for name in self._jobs:
            await self._resume(name)
        for _ in range(DRAIN_ROUNDS):
            if not await self._live():
                break
            await self._cluster.store_clock.advance(1)
            await self._reap(self._stores[0])
            await self._promote(self._stores[0])
            for worker in self._workers:
                await worker.work_off()
        await self._reap(self._stores[0])
        for name in EXECUTIONS:
            for gate in self.gates_of(name):
                seen, _ = await self._stores[0].look_at(gate)
                assert seen.taken == 0, name
        return await self._live()

    def gates_of(self, name: str) -> tuple[Gate, ...]:
        job = self._jobs[name]
        execution = job.definition.execution
        return own_gates(execution, tenant=TENANT, job_id=job.id, job_name=name, version=job.version)

    def began(self, gates: Sequence[Gate]) -> None:
        self.passed += 1
        for gate in gates:
            self._under_way[gate.id] += 1
            fixed = [most for name, most in FIXED.items() if gate in self.gates_of(name)]
            assert all(self._under_way[gate.id] <= most for most in fixed)

    def ended(self, gates: Sequence[Gate]) -> None:
        self._under_way.subtract(gate.id for gate in gates)

    async def _repeat(self, step: Callable[[], Awaitable[None]], times: int) -> None:
        for _ in range(times):
            await step()
            await asyncio.sleep(0)

    async def _enqueue(self, count: int) -> None:
        runs = []
        for _ in range(count):
            name = self._random.choice(list(self._jobs))
            expires_ms = self._cluster.store_clock.now_ms + self._random.randint(1, 900)
            runs.append(
                a_run(
                    self._jobs[name],
                    exclusive=name == "shared too",
                    expires_ms=expires_ms if self._random.random() < 0.1 else None,
                )
            )
        await self._random.choice(self._stores).enqueue(runs)
        self._runs += [run.id for run in runs]

    async def _reap(self, store: Store) -> None:
        strays = await store.strays(grace_ms=0, limit=100)
        ends = [self._random.choice([RunState.READY, RunState.READY, RunState.FAILED]) for _ in strays]
        await store.reclaim([a_reclaim(*pair) for pair in zip(strays, ends, strict=True)])
        await store.sweep_cancelled(limit=100)
        await store.expire(limit=100)
        await store.free_held(limit=100)
        await store.sweep_gates(limit=100)

    async def _promote(self, store: Store) -> None:
        await promote(store, ahead_ms=0)
        await store.refill(ahead_ms=0, limit=100)

    async def _let_time_pass(self) -> None:
        await self._cluster.store_clock.advance(TICK_S)
        await self._promote(self._random.choice(self._stores))

    async def _meddle(self) -> None:
        """People: they cancel, pause, resume and edit, and set limits."""
        store, name = self._random.choice(self._stores), self._random.choice(list(self._jobs))
        operations, job = self._cluster.operations, self._jobs[name]
        match self._random.randint(0, 7):
            case 0:
                await self._enqueue(5)
            case 1:
                wanted = self._random.sample(self._runs, k=3)
                await store.cancel_runs(TENANT, wanted, reason="requested")
            case 2:
                if (await self._now(name)).state is JobState.ACTIVE:
                    await operations.pause_job(TENANT, job.id, note=None)
            case 3:
                await self._resume(name)
            case 4 | 5:
                await self._edit(self._random.randint(1, 4))
            case 6:
                await store.put_limit(Limit(scope=Scope.QUEUE, name=QUEUE, most=self._random.randint(3, 9)))
            case _:
                await store.delete_limit(Scope.QUEUE, QUEUE)

    async def _edit(self, limit: int) -> None:
        def relimited(job: Job, _now_ms: int) -> Definition:
            execution = msgspec.structs.replace(job.definition.execution, concurrency=Concurrency(limit=limit))
            return msgspec.structs.replace(job.definition, execution=execution)

        job = self._jobs["edited"]
        self._jobs["edited"] = await self._cluster.operations.edit_job(TENANT, job.id, relimited, expected_version=None)

    async def _resume(self, name: str) -> None:
        if (await self._now(name)).state is JobState.PAUSED:
            await self._cluster.operations.resume_job(TENANT, self._jobs[name].id)

    async def _now(self, name: str) -> Job:
        job = await self._stores[0].job(TENANT, self._jobs[name].id)
        assert job is not None
        return job

    async def _live(self) -> list[Run]:
        return await self._cluster.live_runs()


class StormWorker:
    def __init__(self, storm: Storm, store: Store, cluster: Cluster, number: int, random: Random) -> None:
        self._storm = storm
        self._store = store
        self._clock = cluster.store_clock
        self._random = random
        self._number = number
        self._lives = 0
        self._definitions = Definitions(store)
        self._preparer = Preparer(self._definitions)
        self._gatekeeper = Gatekeeper(store, cluster.clock)
        self._hands: dict[Claim, tuple[Gate, ...]] = {}

    @property
    def _boot_id(self) -> BootId:
        return BootId(f"w{self._number}-{self._lives}")

    async def register(self) -> None:
        self._lives += 1
        await register(self._store, self._boot_id)

    async def step(self) -> None:
        if self._random.random() < 0.5 or not self._hands:
            await self._claim(self._random.randint(1, 6))
        elif self._random.random() < 0.1:
            await self._vanish()
        else:
            await self._end(self._random.choice(list(self._hands)), self._random.choice(ENDS))

    async def work_off(self) -> None:
        """Claim, and end all that is in hand."""
        await self._claim(50)
        for claim in list(self._hands):
            await self._end(claim, "finish")

    async def _claim(self, limit: int) -> None:
        room = await self._gatekeeper.room(QUEUE, limit)
        claimed = await self._store.claim(self._boot_id, QUEUE, PLAIN, ahead_ms=0, limit=max(room, 1))
        works = list(zip(claimed.claims, await self._preparer.prepare(claimed.claims), strict=True))
        for claim, work in await self._gatekeeper.enter(works, ahead_ms=0):
            self._hands[claim] = work.gates
            self._storm.began(work.gates)
        await settle_overlaps(self._store, self._definitions, claimed.blocked)

    async def _end(self, claim: Claim, how: str) -> None:
        """It counts as ended before the store is told, as it does for its target."""
        self._storm.ended(self._hands.pop(claim))
        match how:
            case "finish":
                await self._store.finish([a_finish(claim)])
            case "retry":
                await self._store.retry([a_retry(claim, due_ms=self._clock.now_ms + 30)])
            case "release":
                await self._store.release([claim])
            case _:
                put_off = Postponed(claim.run_id, claim.token, self._clock.now_ms + 30, HeldReason.HOST_BUSY)
                await self._store.postpone([put_off])

    async def _vanish(self) -> None:
        """Without a word; others find that out."""
        for gates in self._hands.values():
            self._storm.ended(gates)
        self._hands.clear()
        await self._store.leave(self._boot_id)
        await self.register()


ENDS = ("finish", "finish", "finish", "retry", "release", "postpone")
