"""python -m bench.floors.postgres DSN NUMBER bare|full [URL]: claim and finish until nothing is ready.

`bare` is in the floors' own tables. `full` is in those of the product, with all that it keeps of a run and the indexes by which that is
found: what its records cost, whoever writes them. With a URL there is a POST for each run in between.
"""

from __future__ import annotations

import asyncio
import sys
import time

import asyncpg
import uvloop

from bench.floors.calls import Caller
from bench.floors.tables import QUEUES
from bench.programs import say_done_and_wait, say_ready_and_wait

_BATCH = 1_000
"""One after the other: with two processes on two cores, several at once in each made it slower."""
_SETTINGS = {"plan_cache_mode": "force_generic_plan"}
"""Ids are looked up one by one: a plan for the very list would read the whole table."""
_BARE_CLAIM = """
UPDATE runs SET state = 1, token = token + 1, worker = $2
WHERE id = ANY(ARRAY(
    SELECT id FROM runs WHERE queue = $1 AND state = 0 ORDER BY rank LIMIT $3 FOR UPDATE SKIP LOCKED
))
RETURNING id, token, payload
"""
_BARE_FINISH = """
WITH ended AS (
    DELETE FROM runs AS r USING unnest($1::uuid[], $2::bigint[]) AS f (id, token)
    WHERE r.id = f.id AND r.token = f.token
    RETURNING r.*
)
INSERT INTO history (id, queue, rank, token, worker, finished_ms, payload)
SELECT id, queue, rank, token, worker, $3, payload FROM ended
"""
_FULL_CLAIM = """
UPDATE dueline.runs SET state = 'running', token = token + 1, worker = $2, claimed_ms = due_ms, attempt = attempt + 1
WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM dueline.runs WHERE queue = $1 AND lane = 'task' AND state = 'ready' ORDER BY rank, id LIMIT $3 FOR UPDATE SKIP LOCKED
))
RETURNING id, token, spec AS payload
"""
_FULL_FINISH = """
WITH ended AS (
    DELETE FROM dueline.runs AS r USING unnest($1::uuid[], $2::bigint[]) AS f (id, token)
    WHERE r.id = f.id AND r.token = f.token
    RETURNING r.*
)
INSERT INTO dueline.history (
    id, job_id, version, tenant, kind, state, queue, priority, region, scheduled_ms, due_ms, created_ms, claimed_ms, started_ms,
    finished_ms, worker, attempt, lost, reason, tags, parent_id, spec, attempts
)
SELECT
    id, job_id, version, tenant, kind, 'succeeded', queue, priority, region, scheduled_ms, due_ms, created_ms, claimed_ms, $3, $3, worker,
    attempt, lost, NULL, tags, parent_id, spec, '{"outcome":{"kind":"succeeded"}}'
FROM ended
"""
_STATEMENTS = {"bare": (_BARE_CLAIM, _BARE_FINISH), "full": (_FULL_CLAIM, _FULL_FINISH)}


async def main(dsn: str, number: str, tables: str, url: str | None = None) -> None:
    connection = await asyncpg.connect(dsn, server_settings=_SETTINGS)
    claim, finish = [await connection.prepare(statement) for statement in _STATEMENTS[tables]]
    caller = None if url is None else Caller(url, asyncio.get_running_loop())
    finished, queue, worker = 0, QUEUES[tables], number if tables == "full" else int(number)
    say_ready_and_wait()
    while rows := await claim.fetch(queue, worker, _BATCH):
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
