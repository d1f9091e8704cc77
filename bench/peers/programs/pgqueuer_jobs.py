"""PgQueuer: enqueues in bulk, and works with a pool of connections on uvloop."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

import asyncpg
import uvloop
from pgqueuer import AsyncpgPoolDriver, Job, PgQueuer, Queries
from tally import Tally, asked, wait_for_go

ENTRYPOINT = "count"
BULK = 5_000


async def install(asked: dict[str, Any]) -> None:
    connection = await asyncpg.connect(asked["dsn"])
    try:
        queries = Queries.from_asyncpg_connection(connection)
        await queries.install()
        await queries.optimize_autovacuum()
    finally:
        await connection.close()


async def fill(asked: dict[str, Any]) -> None:
    connection = await asyncpg.connect(asked["dsn"])
    try:
        queries = Queries.from_asyncpg_connection(connection)
        payload = None if asked["arguments"] is None else json.dumps(asked["arguments"]).encode()
        for first in range(0, asked["count"], BULK):
            size = min(BULK, asked["count"] - first)
            after = None if asked["due_s"] is None else timedelta(seconds=asked["due_s"] - time.time())
            await queries.enqueue([ENTRYPOINT] * size, [payload] * size, [0] * size, [after] * size)
    finally:
        await connection.close()


async def work(asked: dict[str, Any]) -> None:
    tally = Tally(asked["tally"], keep=asked["keep"])
    async with asyncpg.create_pool(asked["dsn"], min_size=asked["connections"], max_size=asked["connections"]) as pool:
        worker = PgQueuer(AsyncpgPoolDriver(pool))

        async def count(_: Job) -> None:
            tally.started()

        async def count_with_arguments(job: Job) -> None:
            decoded = json.loads(job.payload or b"")
            assert decoded["cents"] == 500
            tally.started()

        worker.entrypoint(ENTRYPOINT)(count if asked["arguments"] is None else count_with_arguments)
        wait_for_go(tally)
        await worker.qm.run(batch_size=asked["batch_size"])


if __name__ == "__main__":
    uvloop.run({"install": install, "fill": fill, "work": work}[asked()["do"]](asked()))
