"""python -m bench.floors.postgres DSN NUMBER [URL]: claim and finish until nothing is ready.

With a URL there is a POST for each run in between.
"""

from __future__ import annotations

import asyncio
import sys
import time

import asyncpg
import uvloop

from bench.floors.calls import Caller
from bench.floors.tables import QUEUE
from bench.programs import say_done_and_wait, say_ready_and_wait

_BATCH = 1_000
"""One after the other: with two processes on two cores, several at once in each made it slower."""
_SETTINGS = {"plan_cache_mode": "force_generic_plan"}
"""Ids are looked up one by one: a plan for the very list would read the whole table."""
_CLAIM = """
UPDATE runs SET state = 1, token = token + 1, worker = $2
WHERE id = ANY(ARRAY(
    SELECT id FROM runs WHERE queue = $1 AND state = 0 ORDER BY rank LIMIT $3 FOR UPDATE SKIP LOCKED
))
RETURNING id, token, payload
"""
_FINISH = """
WITH ended AS (
    DELETE FROM runs AS r USING unnest($1::uuid[], $2::bigint[]) AS f (id, token)
    WHERE r.id = f.id AND r.token = f.token
    RETURNING r.*
)
INSERT INTO history (id, queue, rank, token, worker, finished_ms, payload)
SELECT id, queue, rank, token, worker, $3, payload FROM ended
"""


async def main(dsn: str, number: str, url: str | None = None) -> None:
    connection = await asyncpg.connect(dsn, server_settings=_SETTINGS)
    claim, finish = await connection.prepare(_CLAIM), await connection.prepare(_FINISH)
    caller = None if url is None else Caller(url, asyncio.get_running_loop())
    finished, worker = 0, int(number)
    say_ready_and_wait()
    while rows := await claim.fetch(QUEUE, worker, _BATCH):
        if caller is not None:
            await caller.call([row["payload"] for row in rows])
        now_ms = time.time_ns() // 1_000_000
        await finish.fetch([row["id"] for row in rows], [row["token"] for row in rows], now_ms)
        finished += len(rows)
    say_done_and_wait({"finished": finished})
    if caller is not None:
        caller.close()
    await connection.close()


if __name__ == "__main__":
    uvloop.run(main(*sys.argv[1:]))
