"""A client: asks for things by chance, through the same operations as the API, and keeps a log of what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context
from itertools import count
from random import Random
from typing import Any

import msgspec

from dueline.domain.errors import Conflict, Invalid, NotFound, OverQuota, StoreUnavailable
from dueline.domain.gates import Scope
from dueline.domain.ids import JobId, RunId
from dueline.domain.job import Definition, Job
from dueline.domain.quotas import Quotas
from dueline.domain.schedule import Cron, Every
from dueline.domain.states import JobState
from dueline.engine.backfills import BackfillAsked, Backfills
from dueline.engine.deadletters import DeadLetters, RedriveAsked
from dueline.engine.limiting import LimitDesk
from dueline.engine.operations import Operations
from dueline.engine.quotas import QuotaKeeper
from dueline.engine.tenants import Tenants
from dueline.engine.timekeeping import Timekeeper
from dueline.store.shapes import DeadLetterFilter, RunFilter
from tests.simulation.clocks import MachineClock, SeededChance
from tests.simulation.definitions import (
    a_dedupe,
    a_definition,
    a_grid,
    a_limit,
    a_misfire,
    an_adhoc_run,
    an_execution,
    some_quotas,
)
from tests.simulation.journal import CHANGES, Deed, Journal, Operation, Told
from tests.simulation.link import Link, Network
from tests.simulation.loop import OWNER, Ready
from tests.simulation.trace import Fact

JOBS_MAX = 9
_DEEDS: dict[Deed, int] = {
    Deed.CREATE: 5,
    Deed.EDIT: 4,
    Deed.PAUSE: 3,
    Deed.RESUME: 4,
    Deed.CANCEL_JOB: 1,
    Deed.DELETE: 1,
    Deed.RUN: 4,
    Deed.ENQUEUE: 5,
    Deed.UNIQUE: 5,
    Deed.BACKFILL: 1,
    Deed.CANCEL: 4,
    Deed.REDRIVE: 2,
    Deed.LIMIT: 1,
    Deed.UNLIMIT: 1,
    Deed.QUOTAS: 1,
}


class Client:
    def __init__(self, network: Network, journal: Journal, *, seed: str, name: str, tenant: str) -> None:
        self.name = name
        self._tenant = tenant
        self.dead = False
        self.mortal = False
        self.paused = False
        self.frozen: list[Ready] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self._network = network
        self._journal = journal
        self._random = Random(f"{seed}/{name}")
        self._names = count(1)
        clock = MachineClock(network.loop, Random(f"{seed}/{name}/clock"))
        self.link = Link(network, self, Random(f"{seed}/{name}/link"))
        store = self.link.as_store()
        quotas = QuotaKeeper(store, clock)
        self._keeper = Timekeeper(store, clock)
        self._operations = Operations(store, lambda: self._keeper.time, SeededChance(f"{seed}/{name}/ids"), quotas)
        self._backfills = Backfills(store, lambda: self._keeper.time, quotas)
        self._letters = DeadLetters(store, lambda: self._keeper.time, quotas)
        self._limits = LimitDesk(store)
        self._tenants = Tenants(store, quotas)
        self._wishes: dict[Deed, Callable[[Operation], Awaitable[object]]] = {
            Deed.CREATE: self._create,
            Deed.EDIT: self._edit,
            Deed.PAUSE: self._pause,
            Deed.RESUME: self._resume,
            Deed.CANCEL_JOB: self._cancel_job,
            Deed.DELETE: self._delete,
            Deed.RUN: self._run,
            Deed.ENQUEUE: self._enqueue,
            Deed.UNIQUE: self._enqueue_unique,
            Deed.BACKFILL: self._backfill,
            Deed.CANCEL: self._cancel,
            Deed.REDRIVE: self._redrive,
            Deed.LIMIT: self._limit,
            Deed.UNLIMIT: self._unlimit,
            Deed.QUOTAS: self._set_quotas,
        }
        self._context = Context()
        self._context.run(OWNER.set, self)

    def start(self, until_s: float, *, gap_s: float) -> asyncio.Task[None]:
        return self._network.loop.create_task(self._ask_away(until_s, gap_s), context=self._context)

    def start_lifting(self) -> asyncio.Task[None]:
        """Take away all that is set for queues, hosts and tenants."""
        return self._network.loop.create_task(self._lift_all(), context=self._context)

    def start_closing(self) -> asyncio.Task[None]:
        return self._network.loop.create_task(self._delete_all(), context=self._context)

    def crash(self) -> None:
        raise AssertionError("clients outlive everything")

    def stall(self, last_s: float) -> None:
        raise AssertionError(f"clients are never paused, not for {last_s} s")

    async def _ask_away(self, until_s: float, gap_s: float) -> None:
        loop = self._network.loop
        for _ in range(3):
            await self._ask(Deed.CREATE)
        while loop.time() < until_s:
            await asyncio.sleep(self._random.expovariate(1 / gap_s))
            deed = self._random.choices(list(_DEEDS), list(_DEEDS.values()))[0]
            if deed is Deed.CREATE and len(self._journal.living()) >= JOBS_MAX:
                deed = Deed.ENQUEUE
            if deed in (*CHANGES, Deed.RUN, Deed.BACKFILL) and not self._journal.living(self._tenant):
                deed = Deed.CREATE
            await self._ask(deed)

    async def _lift_all(self) -> None:
        for scope, name in self._journal.limited():
            operation = self._journal.begin(Deed.UNLIMIT, self.name)
            await self._tell(operation, lambda _, place=(scope, name): self._lift(*place))  # type: ignore[misc]

    async def _delete_all(self) -> None:
        for job in self._journal.living():
            operation = self._journal.begin(Deed.DELETE, self.name)
            await self._tell(operation, lambda _, job=job: self._delete_one(job.tenant, job.id))  # type: ignore[misc]

    async def _ask(self, deed: Deed) -> None:
        await self._tell(self._journal.begin(deed, self.name), self._wishes[deed])

    async def _tell(self, operation: Operation, wish: Callable[[Operation], Awaitable[object]]) -> None:
        trace = self._network.trace
        try:
            await self._keeper.step()
            self.link.wish = operation
            await wish(operation)
            operation.told = Told.ACKNOWLEDGED
        except (Conflict, NotFound, Invalid):
            operation.told = Told.REFUSED
        except OverQuota:
            operation.told = Told.REFUSED
            trace.facts[Fact.OVER_QUOTA] += 1
        except StoreUnavailable:
            operation.told = Told.UNKNOWN
            trace.facts[Fact.UNKNOWN] += 1
        finally:
            self.link.wish = None
        trace.add(self._network.loop.time(), self.name, operation.deed, operation.told)

    def _some_job(self) -> JobId:
        return self._random.choice(self._journal.living(self._tenant)).id

    async def _create(self, operation: Operation) -> None:
        name = f"{self.name}-{next(self._names)}"

        def define(_job_id: JobId, now_ms: int) -> Definition:
            operation.now_ms = now_ms
            return a_definition(self._random, name, now_ms)

        await self._operations.create_job(self._tenant, define)

    async def _edit(self, operation: Operation) -> None:
        """A new grid for a job that has one; for any, another way to carry out its runs or to deal with what is missed."""
        schedule, misfire, execution = a_grid(self._random), a_misfire(self._random), an_execution(self._random)
        kind = self._random.randrange(3)

        def edited(old: Definition) -> Definition:
            if kind == 0 and isinstance(old.schedule, Every | Cron):
                return msgspec.structs.replace(old, schedule=schedule)
            if kind == 1:
                return msgspec.structs.replace(old, misfire=misfire)
            limited = msgspec.structs.replace(execution, concurrency=old.execution.concurrency)
            return msgspec.structs.replace(old, execution=limited)

        def define(job: Job, _now_ms: int) -> Definition:
            new = edited(job.definition)
            operation.idle = new == job.definition
            return new

        await self._operations.edit_job(self._tenant, self._some_job(), define, expected_version=None)

    async def _pause(self, _operation: Operation) -> None:
        await self._operations.pause_job(self._tenant, self._some_job(), note=None)

    async def _resume(self, _operation: Operation) -> None:
        await self._operations.resume_job(self._tenant, self._some_job())

    async def _cancel_job(self, operation: Operation) -> None:
        job_id, stop_running = self._some_job(), self._random.random() < 0.5
        await self._operations.cancel_job(
            self._tenant, job_id, note=None, stop_running=stop_running, expected_version=None
        )
        operation.idle = self._journal.events[job_id][-1].job.state is JobState.CANCELLED

    async def _delete(self, _operation: Operation) -> None:
        await self._delete_one(self._tenant, self._some_job())

    async def _delete_one(self, tenant: str, job_id: JobId) -> None:
        await self._operations.delete_job(tenant, job_id, expected_version=None)

    async def _run(self, operation: Operation) -> None:
        force = self._random.random() < 0.3
        run_id = await self._operations.run_job(self._tenant, self._some_job(), force=force)
        operation.run_ids = (run_id,)

    async def _enqueue(self, operation: Operation) -> None:
        now_ms = self._operations.now_ms()
        runs = [an_adhoc_run(self._random, now_ms) for _ in range(self._random.choice([1, 1, 2, 6]))]
        operation.run_ids = tuple(await self._operations.enqueue(self._tenant, runs))

    async def _enqueue_unique(self, operation: Operation) -> None:
        """Runs with keys that others ask for too; or a run of a job."""
        now_ms, jobs = self._operations.now_ms(), self._journal.living(self._tenant)
        if jobs and self._random.random() < 0.3:
            dedupe = a_dedupe(self._random)
            answer = await self._operations.run_job_unique(
                self._tenant, self._random.choice(jobs).id, dedupe, force=self._random.random() < 0.3
            )
            operation.run_ids = (answer.run_id,)
            return
        count = self._random.choice([1, 1, 3])
        runs = [an_adhoc_run(self._random, now_ms) for _ in range(count)]
        dedupes = [a_dedupe(self._random) for _ in range(count)]
        answers = await self._operations.enqueue_unique(self._tenant, runs, dedupes)
        operation.run_ids = tuple(answer.run_id for answer in answers)

    async def _backfill(self, operation: Operation) -> None:
        to_ms = self._operations.now_ms() - 1
        from_ms = to_ms - self._random.choice([10_000, 60_000])
        asked = BackfillAsked(from_ms=from_ms, to_ms=to_ms, cap=50, rate=5.0)
        runs = await self._backfills.backfill(self._tenant, self._some_job(), asked)
        operation.run_ids = tuple(run.run_id for run in runs)

    async def _cancel(self, _operation: Operation) -> None:
        store = self.link.as_store()
        runs = await store.runs_page(RunFilter(tenant=self._tenant), before=None, limit=20)
        if runs:
            run_id: RunId = self._random.choice(runs).id
            await self._operations.cancel_run(self._tenant, run_id)

    async def _redrive(self, _operation: Operation) -> None:
        asked = RedriveAsked(key=f"{self.name}/{self._random.random()}")
        await self._letters.redrive_many(DeadLetterFilter(tenant=self._tenant), asked)

    async def _limit(self, _operation: Operation) -> None:
        await self._limits.put(a_limit(self._random))

    async def _unlimit(self, _operation: Operation) -> None:
        places = self._journal.limited()
        if places:
            await self._lift(*self._random.choice(places))

    async def _lift(self, scope: Scope, name: str) -> None:
        if scope is Scope.TENANT:
            await self._tenants.edit(name, lambda tenant: msgspec.structs.replace(tenant, quotas=Quotas()))
        else:
            await self._limits.delete(scope, name)

    async def _set_quotas(self, _operation: Operation) -> None:
        quotas, weight = some_quotas(self._random), self._random.choice([0.5, 1.0, 4.0])
        await self._tenants.edit(
            self._tenant, lambda tenant: msgspec.structs.replace(tenant, quotas=quotas, weight=weight)
        )
