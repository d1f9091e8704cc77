"""Workers: more and more connections that claim and finish runs of one line at the same time."""

from __future__ import annotations

import time

from bench.growth.costs import Cost, Watch
from bench.growth.curves import Growth, curves_of
from bench.growth.hotpath import QUEUE
from bench.lines import Hands, a_run, durable_postgres, fill
from dueline.domain import limits
from dueline.domain.job import DEFAULT_TENANT
from dueline.domain.run import NewRun
from dueline.store.postgres.store import PostgresStore

_ROUNDS = 3


async def workers(*, quick: bool) -> Growth:
    """In turns on one database. There is more than they claim, so nobody waits for the last ones."""
    began_s = time.monotonic()
    sizes = (1, 4) if quick else (1, 2, 4, 8, 16, 32)
    total, rounds = (4_000, 1) if quick else (40_000, _ROUNDS)
    found: dict[int, list[dict[str, Cost]]] = {size: [] for size in sizes}
    async with durable_postgres() as (bench,):
        for number in range(rounds + 1):
            for size in sizes:
                await fill(bench.store, total + 3 * size * limits.CLAIM_BATCH, _run)
                await bench.vacuum()
                costs = await _drain(bench.dsn, bench.server.pid, size, total)
                if number or quick:
                    found[size].append(costs)
                await bench.hands.drain(QUEUE, sum(state.ready for state in await bench.store.queue_states()))
    of = "connections that claim and finish runs of one line"
    return Growth(name="workers", of=of, curves=curves_of(found), seconds=time.monotonic() - began_s)


async def _drain(dsn: str, server: int, connections: int, total: int) -> dict[str, Cost]:
    store = PostgresStore(dsn, connections_max=connections)
    await store.open()
    try:
        hands = Hands(store)
        # All of them are connected, have planned what they ask, and know the memory of the server, before anything counts.
        await hands.drain(QUEUE, connections * limits.CLAIM_BATCH, at_once=connections)
        watch = Watch(server)
        with watch.on("claim and finish") as spent:
            spent.count = await hands.drain(QUEUE, total, at_once=connections)
        return watch.costs()
    finally:
        await store.close()


def _run(now_ms: int, _number: int) -> NewRun:
    return a_run(now_ms, tenant=DEFAULT_TENANT, queue=QUEUE, job_id=None)
