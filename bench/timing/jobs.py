"""Jobs, as many as are wanted: as somebody creates them in bulk, or, where that takes too long, as likenesses of one of them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from uuid import UUID

import asyncpg

from bench.lines import entropy
from bench.timing.installation import an_installation
from dueline.domain.changes import first_position
from dueline.domain.ids import JobId, new_job_id
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget
from dueline.domain.schedule import At, Every, Schedule
from dueline.domain.sharding import shard_of
from dueline.store.protocol import Store
from dueline.store.shapes import NewJob
from tests.support.postgres import PostgresServer

_PAGE = 1_000
_PER_MS = 1_000
"""Ids that are made in one millisecond: they are in the order of the jobs, about, as if these had been created one after the other."""
_CHUNK = 20_000
FAR_JOBS = "far_jobs"
_FAR_MS = 30 * 86_400_000
_made: set[tuple[PostgresServer, int]] = set()
"""On which server there are far jobs, and how many."""

_SCATTER = 2_654_435_761
"""A prime that has no common measure with the numbers of jobs that anybody asks for: its multiples visit all of them, in no order."""

_MAKE_ROOM = "CREATE TEMP TABLE likenesses (number bigint, id uuid, shard smallint, after_ms bigint)"
_WRITE_JOBS = """
INSERT INTO dueline.jobs (
    id, tenant, name, state, version, generation, queue, region, target_type, tags, definition, created_ms, updated_ms, since_ms
)
SELECT
    l.id, j.tenant, j.name || '-' || l.number, j.state, j.version, j.generation, j.queue, j.region, j.target_type, j.tags,
    replace(
        replace(j.definition, '"' || j.name || '"', '"' || j.name || '-' || l.number || '"'),
        '_ms":' || p.next_ms, '_ms":' || p.next_ms + l.after_ms
    ),
    j.created_ms, j.updated_ms, j.since_ms
FROM likenesses AS l
CROSS JOIN dueline.jobs AS j
JOIN dueline.plans AS p ON p.job_id = j.id
WHERE j.id = $1
ORDER BY l.number
"""
_WRITE_PLANS = """
INSERT INTO dueline.plans (job_id, shard, version, generation, next_ms, due_ms, awaiting, runs_left, delay_ms, zoned, stale)
SELECT
    l.id, l.shard, p.version, p.generation, p.next_ms + l.after_ms, p.due_ms + l.after_ms, p.awaiting,
    p.runs_left, p.delay_ms, p.zoned, p.stale
FROM likenesses AS l
CROSS JOIN dueline.plans AS p
WHERE p.job_id = $1
ORDER BY l.number
"""


async def write_jobs(
    store: Store,
    execution: Execution,
    schedules: Sequence[Schedule],
    *,
    name: str,
    tenant: Callable[[int], str] = lambda _: DEFAULT_TENANT,
) -> list[NewJob]:
    """One job for each schedule, of the tenant of its number."""
    jobs: list[NewJob] = []
    for start in range(0, len(schedules), _PAGE):
        now_ms = await store.now_ms()
        page = [
            NewJob(
                id=new_job_id(now_ms, entropy()),
                tenant=tenant(number),
                definition=Definition(name=f"{name}-{number}", execution=execution, schedule=schedule),
                position=first_position(schedule, {}, now_ms=now_ms),
            )
            for number, schedule in enumerate(schedules[start : start + _PAGE], start)
        ]
        await store.create_jobs(page)
        jobs += page
    return jobs


async def write_likenesses(
    dsn: str,
    store: Store,
    execution: Execution,
    schedule: At | Every,
    count: int,
    *,
    name: str,
    step_ms: float,
    scattered: bool = False,
) -> None:
    """Very many jobs that differ in their ids, names and times only: the first by the store, each other `step_ms` after the one before it.

    Scattered ones have the same times, but jobs that are due one after the other were not created so: their rows lie anywhere. The rows are
    those of the first, so they are what the store writes, but for the statement.
    """
    factor = _SCATTER if scattered else 1
    (first,) = await write_jobs(store, execution, [schedule], name=name)
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(_MAKE_ROOM)
        await connection.copy_to_table(
            "likenesses",
            source=_likenesses(await store.now_ms(), count - 1, lambda number: int(number * factor % count * step_ms)),
            timeout=3_600,
        )
        for statement in (_WRITE_JOBS, _WRITE_PLANS):
            await connection.execute(statement, UUID(bytes=first.id), timeout=3_600)
    finally:
        await connection.close()


async def with_far_jobs(server: PostgresServer, count: int) -> None:
    """Have a database `FAR_JOBS` on a server, to be copied: an installation with so many jobs for later. It is made once."""
    if (server, count) in _made:
        return
    server.drop_database(FAR_JOBS)
    _made.clear()
    async with an_installation(server, FAR_JOBS, kept=True) as installation:
        far = At(at_ms=await installation.store.now_ms() + _FAR_MS)
        execution = Execution(target=HttpTarget(url="http://127.0.0.1:9/", body={"customer": "c-123", "cents": 500}))
        await write_likenesses(installation.dsn, installation.store, execution, far, count, name="other", step_ms=1_000)
        await installation.settle()
    _made.add((server, count))


async def _likenesses(now_ms: int, count: int, after_ms: Callable[[int], int]) -> AsyncIterator[bytes]:
    """Lines of COPY: numbers from 1 on, ids, their shards, and how long after the first they are due."""
    for start in range(0, count, _CHUNK):
        lines = []
        noise = os.urandom(10 * _CHUNK)
        for number in range(start, min(start + _CHUNK, count)):
            tail = noise[(number - start) * 10 : (number - start) * 10 + 10]
            job_id: JobId = new_job_id(now_ms + number // _PER_MS, tail)
            columns = (number + 1, job_id.hex().encode(), shard_of(job_id), after_ms(number + 1))
            lines.append(b"%d\t%b\t%d\t%d\n" % columns)
        yield b"".join(lines)
