"""A store with lines of runs in it, and hands that take them as a worker does, but carry nothing out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count

import asyncpg
import msgspec

from bench.databases import fresh_database, shared_server
from dueline.domain import limits
from dueline.domain.ids import BootId, JobId, new_job_id, new_run_id
from dueline.domain.job import Definition, Execution, HttpTarget
from dueline.domain.lanes import PLAIN
from dueline.domain.planning import Position
from dueline.domain.run import Attempt, NewRun, Outcome, OutcomeKind
from dueline.domain.states import RunKind, RunState
from dueline.engine.definitions import Definitions
from dueline.engine.execution.gating import Gatekeeper
from dueline.engine.execution.preparing import Preparer
from dueline.runtime.clock import SystemClock
from dueline.store.fleet import NewNode, Role
from dueline.store.postgres.store import PostgresStore
from dueline.store.protocol import Store
from dueline.store.shapes import Claim, Finish, NewJob
from tests.support.postgres import PostgresServer

WORKER = BootId("bench")
TARGET = HttpTarget(url="http://127.0.0.1:9/")
_SUCCEEDED = Outcome(kind=OutcomeKind.SUCCEEDED)
_EMPTY_S = 0.005
_numbers = count(1)


class Bench:
    """A store on a durable server, with a worker that lives long enough."""

    def __init__(self, server: PostgresServer, dsn: str) -> None:
        self.server = server
        self.dsn = dsn
        self.store = PostgresStore(dsn)
        self.hands = Hands(self.store)

    async def open(self) -> None:
        await self.store.open()
        await self.store.migrate()
        await self.store.prepare_history(days_ahead=1)
        node = NewNode(boot_id=WORKER, role=Role.ALL, host="bench", pid=1, version="bench")
        await self.store.register(node, lease_s=86_400)

    async def vacuum(self) -> None:
        """The same for all that is compared: no dead rows, and statistics that are true."""
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute("VACUUM ANALYZE")
            await connection.execute("CHECKPOINT")
        finally:
            await connection.close()


@asynccontextmanager
async def durable_postgres(databases: int = 1) -> AsyncIterator[list[Bench]]:
    """Some fresh databases on the server with fsync that all share."""
    server = shared_server()
    async with AsyncExitStack() as stack:
        benches = []
        for _ in range(databases):
            benches.append(Bench(server, await stack.enter_async_context(fresh_database(server))))
            stack.push_async_callback(benches[-1].store.close)
            await benches[-1].open()
        yield benches


def entropy() -> bytes:
    return next(_numbers).to_bytes(10, "big")


async def make_jobs(store: Store, executions: Sequence[Execution], *, tenant: Callable[[int], str]) -> list[NewJob]:
    now_ms = await store.now_ms()
    jobs = []
    for number, execution in enumerate(executions):
        job_id = new_job_id(now_ms, entropy())
        definition = Definition(name=job_id.hex(), execution=execution)
        jobs.append(NewJob(id=job_id, tenant=tenant(number), definition=definition, position=Position()))
    for start in range(0, len(jobs), 1_000):
        await store.create_jobs(jobs[start : start + 1_000])
    return jobs


def a_run(now_ms: int, *, tenant: str, queue: str, job_id: JobId | None, priority: int = 5) -> NewRun:
    return NewRun(
        id=new_run_id(now_ms, entropy()),
        job_id=job_id,
        version=None if job_id is None else 1,
        tenant=tenant,
        kind=RunKind.MANUAL if job_id is not None else RunKind.ADHOC,
        queue=queue,
        priority=priority,
        region="",
        exclusive=False,
        timeout_ms=30_000,
        scheduled_ms=now_ms,
        due_ms=now_ms,
        spec=None if job_id is not None else SPEC,
    )


SPEC = msgspec.json.encode(Execution(target=TARGET)).decode()


async def fill(store: Store, count: int, make: Callable[[int, int], NewRun], *, batch: int = 5_000) -> None:
    """Write runs; `make` gets the time and the number."""
    for start in range(0, count, batch):
        now_ms = await store.now_ms()
        await store.enqueue([make(now_ms, number) for number in range(start, min(start + batch, count))])


class Hands:
    """What a worker does between claim and finish, without the work."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._preparer = Preparer(Definitions(store))
        self._gatekeeper = Gatekeeper(store, SystemClock())

    async def take(self, queue: str, *, limit: int = limits.CLAIM_BATCH) -> list[Claim]:
        """Claim runs, and let them pass their gates."""
        room = await self._gatekeeper.room(queue, limit)
        claimed = (await self._store.claim(WORKER, queue, PLAIN, ahead_ms=0, limit=room)).claims if room else []
        works = list(zip(claimed, await self._preparer.prepare(claimed), strict=True))
        return [claim for claim, _ in await self._gatekeeper.enter(works, ahead_ms=0)]

    async def end(self, claims: Sequence[Claim]) -> None:
        await self._store.finish([_finish(claim) for claim in claims])

    async def drain(self, queue: str, total: int, *, at_once: int = 4, limit: int = limits.CLAIM_BATCH) -> int:
        """Take and end so many runs, several batches at once; answers how many there were, for the last batches may be too many.

        Who finds nothing while others still take waits for them: to look again and again at a line that is empty but for dead entries would
        cost as much as a batch.
        """
        taken = 0

        async def work() -> None:
            nonlocal taken
            while taken < total:
                claims = await self.take(queue, limit=limit)
                taken += len(claims)
                if claims:
                    await self.end(claims)
                else:
                    await asyncio.sleep(_EMPTY_S)

        await asyncio.gather(*(work() for _ in range(at_once)))
        return taken


def _finish(claim: Claim) -> Finish:
    attempt = Attempt(
        attempt=claim.attempt,
        token=claim.token,
        worker=WORKER,
        claimed_ms=claim.claimed_ms,
        started_ms=claim.claimed_ms,
        finished_ms=claim.claimed_ms,
        outcome=_SUCCEEDED,
    )
    return Finish(
        claim.run_id,
        claim.token,
        RunState.SUCCEEDED,
        claim.exclusive,
        claim.claimed_ms,
        claim.claimed_ms,
        attempt,
        gated=claim.gated,
    )
