"""The two stores side by side, and all that can be seen of each: its rows, and what it tells."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from dueline.domain.ids import BootId, JobId
from dueline.domain.job import Job
from dueline.domain.run import Run
from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from dueline.store.shapes import DeadLetterFilter, JobFilter, QueueState, RunFilter
from dueline.store.sqlite.session import MEMORY
from dueline.store.sqlite.store import SqliteStore
from tests.support.stores import ALL_SHARDS, START_MS, PostgresClock, SqliteClock, StoreClock

TENANTS = ("default", "other")
WORKERS = ("w1", "w2", "w3")
MANY = 1_000

# The same statements on both. Most of it a store tells too; what is compared after every move is read at once.
RUNS = """
    SELECT id, rank, state, token, attempt, lost, worker, reason, due_ms, claimed_ms, begun_ms, cancel, waits_for FROM runs
"""
ROWS = {
    "history": "SELECT id, state, attempt, lost, worker, reason, finished_ms FROM history",
    "dead letters": "SELECT run_id FROM dead_letters",
    "jobs": "SELECT id, state, version, generation, updated_ms FROM jobs WHERE deleted_ms IS NULL",
    "plans": "SELECT job_id, version, generation, next_ms, due_ms, awaiting, runs_left FROM plans",
    "ledger": "SELECT job_id, from_ms, to_ms, version, verdict, reason FROM ledger",
    "places": "SELECT job_id, run_id FROM places",
    "gate places": "SELECT gate, run_id FROM gate_places",
    "nodes": "SELECT boot_id, beat, expires_ms, draining, drain_asked FROM nodes",
    "shards": "SELECT shard, epoch, owner FROM shards WHERE epoch > 0",
    "pauses": "SELECT queue, note FROM queue_pauses",
}

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Side:
    dialect: str
    store: Store
    clock: StoreClock
    rows: Callable[[str], Awaitable[Rows]]


@asynccontextmanager
async def sqlite_side() -> AsyncIterator[Side]:
    """In memory, and without threads."""
    clock = SqliteClock()
    store = SqliteStore(MEMORY, clock.manual, inline=True)

    async def rows(statement: str) -> Rows:
        return await store._database.read(lambda session: session.rows(statement))

    await store.open()
    try:
        await store.migrate()
        yield Side("sqlite", store, clock, rows)
    finally:
        await store.close()


class PostgresSides:
    """One open store for many beginnings, each of them empty: what a process keeps in memory has no say in what a store answers."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._store = PostgresStore(dsn)
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None

    async def open(self) -> None:
        self._connection = await asyncpg.connect(self._dsn, server_settings={"search_path": "dueline"})
        await self._store.open()

    async def begin(self) -> Side:
        assert self._connection is not None
        clock = PostgresClock(self._connection)
        await clock.take_over()
        return Side("postgres", self._store, clock, self._rows)

    async def close(self) -> None:
        await self._store.close()
        if self._connection is not None:
            await self._connection.close()

    async def _rows(self, statement: str) -> Rows:
        assert self._connection is not None
        return [tuple(map(_plain, row)) for row in await self._connection.fetch(statement)]


def _plain(value: Any) -> Any:
    return value.bytes if isinstance(value, UUID) else value


async def read(side: Side) -> tuple[list[bytes], dict[str, Any]]:
    """The live runs in the order of their ranks, and all rows, in the words of `expectations.rows`."""
    live = sorted(await side.rows(RUNS), key=lambda row: (row[1], row[0]))
    found = {name: set(await side.rows(statement)) for name, statement in ROWS.items()}
    return [row[0] for row in live], {"runs": {(row[0], *row[2:]) for row in live}} | found


async def ask(side: Side, jobs: list[JobId], gates: list[Any]) -> dict[str, Any]:
    """What a store tells, in the words of `expectations.answers`."""
    store = side.store
    runs = [run for tenant in TENANTS for run in await store.runs_page(_runs_of(tenant), before=None, limit=MANY)]
    dead = [
        letter
        for tenant in TENANTS
        for letter in await store.dead_letters(DeadLetterFilter(tenant=tenant), before=None, limit=MANY)
    ]
    claims = [claim for worker in WORKERS for claim in await store.claims_of(BootId(worker))]
    due = await store.due_plans(ALL_SHARDS, since_ms=0, until_ms=2 * START_MS, limit=MANY)
    upcoming = await store.upcoming()
    return {
        "runs": {run.id: seen_run(run) for run in runs},
        "claims": {claim.run_id: (claim.token, claim.attempt, claim.gated) for claim in claims},
        "jobs": {job.id: seen_job(job) for job in await store.jobs_page(_jobs_of(), before=None, limit=MANY)},
        "due": {(plan.job_id, plan.version, plan.generation, plan.next_ms) for plan in due},
        "told": {
            (job_id, row.unfired.from_ms, row.unfired.to_ms, row.version, row.unfired.verdict, row.unfired.reason)
            for job_id in jobs
            for row in await store.unfired(job_id, from_ms=0, to_ms=2 * START_MS, limit=MANY)
        },
        "gates": [(await store.look_at(gate))[0].taken for gate in gates],
        "dead letters": {letter.run.id: letter.failed_ms for letter in dead},
        "queues": {state.queue: seen_queue(state) for state in await store.queue_states()},
        "lines": set(await store.queues()),
        "nodes": {
            node.boot_id: (node.started_ms, node.expired, node.beat_ms, node.beat, node.draining)
            for node in await store.nodes()
        },
        "shards": {lease.shard: (lease.epoch, lease.owner) for lease in await store.shards() if lease.epoch},
        "next": (upcoming.due_ms, upcoming.refill_ms, await store.next_due_ms()),
    }


def seen_run(run: Run) -> tuple[Any, ...]:
    return (
        (run.job_id, run.version, run.tenant, run.kind, run.state, run.queue, run.priority, run.parent_id),
        (run.scheduled_ms, run.due_ms, run.created_ms, run.claimed_ms, run.started_ms, run.finished_ms),
        (run.attempt, run.lost, run.worker, run.reason, run.attempts),
    )


def seen_job(job: Job) -> tuple[Any, ...]:
    position = (job.position.next_ms, job.position.due_ms, job.position.awaiting)
    return job.state, job.version, job.definition, position, job.pause_note, job.updated_ms, job.since_ms


def seen_queue(state: QueueState) -> tuple[Any, ...]:
    counts = (state.ready, state.running, state.held, state.waiting)
    return counts, state.oldest_ms, state.paused, state.note, state.reasons


def _runs_of(tenant: str) -> RunFilter:
    return RunFilter(tenant=tenant)


def _jobs_of() -> JobFilter:
    return JobFilter(tenant=TENANTS[0])
