"""History, as much as is wanted: likenesses of one run that the store finished."""

from __future__ import annotations

from functools import partial
from uuid import UUID

import asyncpg
import msgspec

from bench.growth.lists import late_ms
from bench.lines import WORKER, Bench, a_run, make_jobs
from dueline.domain.ids import JobId
from dueline.domain.job import DEFAULT_QUEUE, DEFAULT_TENANT, Execution, HttpTarget
from dueline.domain.lanes import PLAIN
from dueline.domain.states import RunState
from dueline.store.shapes import RunFilter

_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000
_JOBS = 1_000
_PAGE = 50
# In the order of their ids, as runs end.
_WRITE = """
INSERT INTO dueline.history (
    id, job_id, version, tenant, kind, state, queue, priority, region, scheduled_ms, due_ms, created_ms, claimed_ms, started_ms,
    finished_ms, worker, attempt, lost, reason, tags, parent_id, spec, attempts
)
SELECT
    (lpad(to_hex(h.scheduled_ms - n.before_ms), 12, '0') || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid,
    ($3::uuid[])[n.number % cardinality($3::uuid[]) + 1], h.version, h.tenant, h.kind, h.state, h.queue, h.priority, h.region,
    h.scheduled_ms - n.before_ms, h.due_ms - n.before_ms, h.created_ms - n.before_ms, h.claimed_ms - n.before_ms,
    h.started_ms - n.before_ms, h.finished_ms - n.before_ms, h.worker, h.attempt, h.lost, h.reason, h.tags, h.parent_id, h.spec,
    h.attempts
FROM dueline.history AS h
CROSS JOIN (
    SELECT number, 1 + number * $4::bigint / $2::bigint AS before_ms FROM generate_series($2::bigint - 1, 1, -1) AS number
) AS n
WHERE h.id = $1
"""


async def write_finished(bench: Bench, count: int) -> None:
    """Runs of the last hour, or of this day if it has not lasted that long."""
    execution = Execution(target=HttpTarget(url="http://127.0.0.1:9/"))
    jobs = await make_jobs(bench.store, [execution] * _JOBS, tenant=lambda _: DEFAULT_TENANT)
    now_ms = await bench.store.now_ms()
    run = a_run(now_ms, tenant=DEFAULT_TENANT, queue=DEFAULT_QUEUE, job_id=jobs[0].id)
    await bench.store.enqueue([run])
    claimed = await bench.store.claim(WORKER, DEFAULT_QUEUE, PLAIN, ahead_ms=0, limit=1)
    await bench.hands.end(claimed.claims)
    ids = [UUID(bytes=job.id) for job in jobs]
    connection = await asyncpg.connect(bench.dsn)
    try:
        span_ms = min(now_ms % _DAY_MS, _HOUR_MS) - 1
        await connection.execute(_WRITE, UUID(bytes=run.id), count, ids, span_ms, timeout=3_600)
    finally:
        await connection.close()


async def ask_for_runs(bench: Bench) -> dict[str, float]:
    """What people ask about runs that are over."""
    store = bench.store
    every = RunFilter(tenant=DEFAULT_TENANT)
    (newest, *_) = await store.runs_page(every, before=None, limit=_PAGE)
    of_job = await _oldest_job(bench.dsn)
    matches = {
        "page of runs": every,
        "page of a job": msgspec.structs.replace(every, job_id=of_job),
        "page by state": msgspec.structs.replace(every, state=RunState.FAILED),
    }
    found = {}
    for name, match in matches.items():
        found[f"{name}, ms"] = await late_ms(partial(store.runs_page, match, before=None, limit=_PAGE))
    found["one run, ms"] = await late_ms(partial(store.run, DEFAULT_TENANT, newest.id))
    return found


async def _oldest_job(dsn: str) -> JobId:
    connection = await asyncpg.connect(dsn)
    try:
        found: UUID = await connection.fetchval("SELECT job_id FROM dueline.history ORDER BY id LIMIT 1")
        return JobId(found.bytes)
    finally:
        await connection.close()
