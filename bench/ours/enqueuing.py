"""python -m bench.ours.enqueuing DSN COUNT BATCH: write runs through the store."""

from __future__ import annotations

import asyncio
import sys

import uvloop

from bench.ours.runs import http_run
from bench.programs import say_done_and_wait, say_ready_and_wait
from dueline.domain.run import NewRun
from dueline.store.postgres.store import PostgresStore

_AT_ONCE = 2
"""As the floor has it."""


async def main(dsn: str, count: str, batch: str) -> None:
    store = PostgresStore(dsn)
    await store.open()
    now_ms, make, size = await store.now_ms(), http_run("http://127.0.0.1:9/"), int(batch)
    runs = [make(now_ms, number) for number in range(int(count))]
    batches: list[list[NewRun]] = [runs[start : start + size] for start in range(0, len(runs), size)]

    async def work() -> None:
        while batches:
            await store.enqueue(batches.pop(0))

    say_ready_and_wait()
    await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
    say_done_and_wait({"written": len(runs)})
    await store.close()


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
