"""A store with a clock that moves when told to, and the words in which tests tell their stories about stores.

`a_…` makes something to hand to a store; the other functions hand it over and assert that it was taken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import msgspec

from dueline.domain import limits
from dueline.domain.changes import DecideChange, JobChange, JobInHand
from dueline.domain.ids import BootId, JobId, RunId, new_job_id, new_run_id, occurrence_run_id
from dueline.domain.job import Definition, Execution, HttpTarget, Job, Target
from dueline.domain.lanes import PLAIN
from dueline.domain.ledger import Unfired
from dueline.domain.overlap import Overlap
from dueline.domain.planning import Position
from dueline.domain.run import Attempt, NewRun, Outcome, OutcomeKind, Run
from dueline.domain.schedule import Every
from dueline.domain.sharding import shard_of
from dueline.domain.states import RunKind, RunState
from dueline.runtime.clock import ManualClock
from dueline.store.fleet import NewNode, Role
from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from dueline.store.shapes import Claim, DuePlan, Finish, Firing, NewJob, Promoted, Reclaim, Retry, Stray
from dueline.store.sqlite.store import SqliteStore

START_MS = 1_767_225_600_000
"""Where every clock begins: the first millisecond of 2026."""
TENANT = "default"
QUEUE = "default"
ALL_SHARDS = range(limits.SHARDS)

_numbers = count(1)

_TAKE_OVER = Path(__file__).with_name("take_over.sql")


class StoreClock(ABC):
    """The clock that a store takes for the truth."""

    def __init__(self) -> None:
        self.now_ms = START_MS

    async def set_ms(self, now_ms: int) -> None:
        await self._move_to(now_ms)
        self.now_ms = now_ms

    async def advance(self, seconds: float) -> None:
        await self.set_ms(self.now_ms + round(seconds * 1000))

    @abstractmethod
    async def _move_to(self, now_ms: int) -> None: ...


class PostgresClock(StoreClock):
    """The function `dueline.now_ms()`, made to read a table in which the time stands still."""

    def __init__(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        super().__init__()
        self._connection = connection

    async def take_over(self) -> None:
        """Begin: the clock stands at its start, and the store is empty."""
        await self._connection.execute(_TAKE_OVER.read_text())
        await self._connection.execute("INSERT INTO public.dueline_test_clock VALUES ($1)", START_MS)

    async def _move_to(self, now_ms: int) -> None:
        await self._connection.execute("UPDATE public.dueline_test_clock SET ms = $1", now_ms)


class SqliteClock(StoreClock):
    """The manual clock that the embedded store was given."""

    def __init__(self) -> None:
        super().__init__()
        self.manual = ManualClock(START_MS)

    async def _move_to(self, now_ms: int) -> None:
        self.manual.advance((now_ms - self.manual.wall_ms()) / 1000)


@dataclass(frozen=True)
class StoreUnderTest:
    """An open store with its clock. `tamper` runs a statement behind its back, with unqualified names of tables."""

    dialect: str
    store: Store
    clock: StoreClock
    tamper: Callable[[str], Awaitable[None]]


@asynccontextmanager
async def postgres_under_test(dsn: str, *, migrated: bool = True) -> AsyncIterator[StoreUnderTest]:
    """The store on a database that nobody else uses, emptied. Without the schema there is no clock to take over."""
    connection = await asyncpg.connect(dsn, server_settings={"search_path": "dueline"})
    store = PostgresStore(dsn)

    async def tamper(statement: str) -> None:
        await connection.execute(statement)

    try:
        clock = PostgresClock(connection)
        if migrated:
            await clock.take_over()
        await store.open()
        yield StoreUnderTest("postgres", store, clock, tamper)
    finally:
        await store.close()
        await connection.close()


@asynccontextmanager
async def sqlite_under_test(path: Path, *, migrated: bool = True) -> AsyncIterator[StoreUnderTest]:
    """The embedded store in a file of the test's own."""
    clock = SqliteClock()
    store = SqliteStore(str(path), clock.manual)

    async def tamper(statement: str) -> None:
        connection = apsw.Connection(str(path))
        connection.execute(statement)
        connection.close()

    await store.open()
    try:
        if migrated:
            await store.migrate()
        yield StoreUnderTest("sqlite", store, clock, tamper)
    finally:
        await store.close()


def a_definition(name: str = "nightly", *, target: Target | None = None, **fields: Any) -> Definition:
    fields.setdefault("schedule", Every(period_ms=60_000, anchor_ms=START_MS))
    fields.setdefault("overlap", Overlap.ALLOW)
    return Definition(name=name, execution=Execution(target=target or HttpTarget(url="http://target/")), **fields)


def at(next_ms: int | None, **fields: Any) -> Position:
    """A position whose first undecided occurrence fires."""
    return Position(next_ms=next_ms, **({"due_ms": next_ms} | fields))


def a_job(
    name: str | None = None,
    *,
    tenant: str = TENANT,
    next_ms: int | None = START_MS,
    position: Position | None = None,
    shard: int | None = None,
    **fields: Any,
) -> NewJob:
    """A job with a name of its own; younger ones have higher ids. `shard` picks an id that falls there."""
    job_id = new_job_id(START_MS, _tail())
    while shard is not None and shard_of(job_id) != shard:
        job_id = new_job_id(START_MS, _tail())
    definition = a_definition(name or f"job-{next(_numbers)}", **fields)
    return NewJob(id=job_id, tenant=tenant, definition=definition, position=position or at(next_ms))


def a_run(job: Job | None = None, *, due_ms: int = START_MS, **fields: Any) -> NewRun:
    """A run that somebody asked for: of a job, or ad hoc."""
    scheduled_ms: int = fields.setdefault("scheduled_ms", due_ms)
    fields.setdefault("id", new_run_id(scheduled_ms, _tail()))
    fields.setdefault("tenant", job.tenant if job else TENANT)
    fields.setdefault("kind", RunKind.MANUAL if job else RunKind.ADHOC)
    fields.setdefault("spec", None if job else "{}")
    defaults: dict[str, Any] = {"queue": QUEUE, "priority": 5, "region": ""}
    defaults |= {"exclusive": False, "timeout_ms": 30_000}
    return NewRun(
        job_id=job.id if job else None, version=job.version if job else None, due_ms=due_ms, **(defaults | fields)
    )


def an_occurrence(job: Job, at_ms: int, **fields: Any) -> NewRun:
    """The one scheduled run of a job at an instant."""
    run_id = occurrence_run_id(job.id, at_ms, RunKind.SCHEDULED)
    return a_run(job, scheduled_ms=at_ms, id=run_id, kind=RunKind.SCHEDULED, **({"due_ms": at_ms} | fields))


def a_firing(
    job: Job,
    *,
    following_ms: int | None = None,
    position: Position | None = None,
    runs: Sequence[NewRun] | None = None,
    unfired: Sequence[Unfired] = (),
    generation: int = 1,
) -> Firing:
    """The occurrence that a job's plan is at, and the move to the following one. Every change of the job is a generation."""
    assert job.next_ms is not None
    return Firing(
        job_id=job.id,
        shard=shard_of(job.id),
        version=job.version,
        generation=generation,
        next_ms=job.next_ms,
        position=position or at(following_ms),
        runs=(an_occurrence(job, job.next_ms),) if runs is None else tuple(runs),
        unfired=tuple(unfired),
    )


def an_attempt(claim: Claim, kind: OutcomeKind = OutcomeKind.SUCCEEDED, **fields: Any) -> Attempt:
    return Attempt(
        attempt=claim.attempt,
        token=claim.token,
        worker="w1",
        claimed_ms=claim.claimed_ms,
        started_ms=claim.claimed_ms,
        finished_ms=claim.claimed_ms + 5,
        outcome=Outcome(kind=kind, **fields),
    )


def a_finish(
    claim: Claim, state: RunState = RunState.SUCCEEDED, *, reason: str | None = None, awaited: bool = False
) -> Finish:
    attempt = an_attempt(claim)
    started_ms, finished_ms = attempt.started_ms, attempt.finished_ms
    times = (started_ms, finished_ms)
    return Finish(claim.run_id, claim.token, state, claim.exclusive, *times, attempt, reason, awaited, claim.gated)


def a_retry(claim: Claim, *, due_ms: int) -> Retry:
    return Retry(claim.run_id, claim.token, due_ms, an_attempt(claim, OutcomeKind.REFUSED, status=503), claim.gated)


def a_reclaim(claim: Claim | Stray, state: RunState = RunState.READY, *, lost: bool = True, **fields: Any) -> Reclaim:
    """Taking a claimed run away, with a record that says its worker was lost."""
    attempt = Attempt(
        attempt=claim.attempt,
        token=claim.token,
        worker="w1",
        claimed_ms=claim.claimed_ms,
        finished_ms=claim.claimed_ms,
        outcome=Outcome(kind=OutcomeKind.LOST),
    )
    return Reclaim(
        run_id=claim.run_id,
        token=claim.token,
        state=state,
        lost=lost,
        due_ms=fields.get("due_ms"),
        reason=fields.get("reason"),
        attempt=attempt,
        owner=fields.get("owner"),
    )


def stale(claim: Claim) -> Claim:
    """The same claim, one token too old."""
    return msgspec.structs.replace(claim, token=claim.token - 1)


def changing(**fields: Any) -> DecideChange:
    """A change of the named fields alone. A callable is asked, with the job in hand, for its value.

    `next_ms` is short for a position; a deleted job has none.
    """

    def decide(hand: JobInHand) -> JobChange:
        decided = {name: value(hand) if callable(value) else value for name, value in fields.items()}
        if "next_ms" in decided:
            decided["position"] = at(decided.pop("next_ms"), runs_left=hand.job.position.runs_left)
        kept: dict[str, Any] = {"state": hand.job.state, "definition": hand.job.definition}
        kept["position"] = Position() if decided.get("deleted") else _going_on(hand.job.position)
        return JobChange(**(kept | decided))

    return decide


async def create(store: Store, job: NewJob | None = None) -> Job:
    (created,) = await store.create_jobs([job or a_job()])
    assert created is not None
    return created


async def register(
    store: Store, name: str = "w1", *, role: Role = Role.WORKER, lease_s: float = limits.LEASE_S, **fields: Any
) -> BootId:
    node = NewNode(boot_id=BootId(name), role=role, host="here", pid=1, version="1", **fields)
    await store.register(node, lease_s=lease_s)
    return node.boot_id


async def take_all(store: Store, owner: BootId) -> dict[int, int]:
    """Take every shard that is free; answers their epochs."""
    return await store.take_shards(owner, {lease.shard: lease.epoch for lease in await store.shards()})


async def epochs_of(store: Store) -> dict[int, int]:
    return {lease.shard: lease.epoch for lease in await store.shards()}


async def plan_of(store: Store, job_id: JobId) -> DuePlan | None:
    """A job's plan, whenever it is due; none while it is paused or has nothing left."""
    plans = await store.due_plans([shard_of(job_id)], since_ms=0, until_ms=2 * START_MS, limit=1_000)
    return next((plan for plan in plans if plan.job_id == job_id), None)


async def fire_one(store: Store, job: Job, *, following_ms: int | None = START_MS + 60_000, **fields: Any) -> RunId:
    """Fire the occurrence that a job's plan is at, with its generation and the epochs of the moment."""
    plan = await plan_of(store, job.id)
    assert plan is not None
    run = an_occurrence(job, plan.next_ms, **fields)
    firing = a_firing(job, following_ms=following_ms, runs=[run], generation=plan.generation)
    assert await store.fire([firing], await epochs_of(store)) == {job.id}
    return run.id


async def enqueue(store: Store, *runs: NewRun) -> list[RunId]:
    assert await store.enqueue(runs) == {run.id for run in runs}
    return [run.id for run in runs]


async def claim(
    store: Store, worker: BootId, *, queue: str = QUEUE, lane: str = PLAIN, ahead_ms: int = 0, limit: int = 100
) -> list[Claim]:
    """What a worker gets from a lane in which nothing is blocked."""
    claimed = await store.claim(worker, queue, lane, ahead_ms=ahead_ms, limit=limit)
    assert claimed.blocked == []
    return claimed.claims


async def claim_one(store: Store, worker: BootId, **where: Any) -> Claim:
    (only,) = await claim(store, worker, **where)
    return only


async def run_and_claim(store: Store, *runs: NewRun, worker: str = "w1") -> list[Claim]:
    """Register a worker, and have it claim these runs."""
    await enqueue(store, *(runs or (a_run(),)))
    return await claim(store, await register(store, worker))


async def confirm(store: Store, *claims: Claim) -> set[RunId]:
    """Those that may start; none of the others may be blocked."""
    confirmed = await store.confirm(claims)
    assert confirmed.blocked == []
    assert confirmed.tokens.items() <= {(claim.run_id, claim.token) for claim in claims}
    return set(confirmed.tokens)


async def promote(store: Store, *, ahead_ms: int = 0, limit: int = 100) -> Promoted:
    return await store.promote(ahead_ms=ahead_ms, limit=limit)


async def the_job(store: Store, job_id: JobId) -> Job:
    job = await store.job(TENANT, job_id)
    assert job is not None
    return job


async def the_run(store: Store, run_id: RunId) -> Run:
    run = await store.run(TENANT, run_id)
    assert run is not None
    return run


async def states_of(store: Store, run_ids: Collection[RunId]) -> list[RunState]:
    return [(await the_run(store, run_id)).state for run_id in run_ids]


def _going_on(position: Position) -> Position:
    """A paused job has nothing to act on; one that goes on has."""
    due_ms = position.next_ms if position.due_ms is None else position.due_ms
    return msgspec.structs.replace(position, due_ms=due_ms)


def _tail() -> bytes:
    return next(_numbers).to_bytes(10, "big")
