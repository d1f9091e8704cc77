"""python -m bench.floors.copying DSN COUNT BATCH: put rows into the table by COPY."""

from __future__ import annotations

import asyncio
import sys

import asyncpg
import uvloop

from bench.floors.tables import copy, make_rows
from bench.programs import say_done_and_wait, say_ready_and_wait

_AT_ONCE = 2


async def main(dsn: str, count: str, batch: str) -> None:
    rows, size = list(make_rows(int(count))), int(batch)
    batches = [rows[start : start + size] for start in range(0, len(rows), size)]
    connections = [await asyncpg.connect(dsn) for _ in range(_AT_ONCE)]

    async def work(connection: asyncpg.Connection[asyncpg.Record]) -> None:
        while batches:
            await copy(connection, batches.pop(0))

    say_ready_and_wait()
    await asyncio.gather(*(work(connection) for connection in connections))
    say_done_and_wait({"written": len(rows)})
    for connection in connections:
        await connection.close()


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
