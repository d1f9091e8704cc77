"""An installation that has been in use for a week: very many jobs and finished runs, in which some are rare and old."""

from __future__ import annotations

from uuid import UUID

import asyncpg

from bench.lines import entropy
from bench.timing.installation import Installation
from dueline.domain.durations import DAY_MS
from dueline.domain.ids import new_job_id
from dueline.domain.job import DEFAULT_TENANT, Definition, Execution, HttpTarget, TaskTarget
from dueline.domain.planning import Position
from dueline.domain.schedule import Every
from dueline.store.shapes import NewJob

DAYS = 7
RARE = 50
"""Jobs, and finished runs, that differ from all others, and are older."""
_URL = "https://hooks.example.com/v1/x/0"
_TASK = "note"
_FILL_S = 3_600.0

_ID = """
CREATE FUNCTION public.id_at(at_ms bigint, number bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS
$body$
SELECT (lpad(to_hex(at_ms), 12, '0') || '7' || substr(md5(number::text), 1, 3) || '8' || substr(md5(number::text), 4, 15))::uuid
$body$
"""
# A job a minute or so. The oldest three in ten are called legacy, and every tenth is a task; the very oldest are rare in every way.
_JOBS = """
INSERT INTO dueline.jobs (
    id, tenant, name, state, version, generation, queue, region, target_type, tags, definition, created_ms, updated_ms, since_ms
)
SELECT
    public.id_at(n.at_ms, n.number), h.tenant, n.name, CASE WHEN rare THEN 'paused' ELSE 'active' END, 1, 1,
    CASE WHEN rare THEN 'rare' ELSE 'queue-' || number % 10 END, '',
    CASE WHEN is_task THEN 'task' ELSE 'http' END,
    CASE WHEN rare THEN ARRAY['rare'] ELSE ARRAY['team-' || number % 50] END,
    CASE WHEN is_task THEN replace(replace(t.definition, t.name, n.name), '"note"', '"' || kind || '.refresh"')
    ELSE replace(replace(h.definition, h.name, n.name), '/v1/x/0', '/v1/' || kind || '/' || number) END,
    n.at_ms, n.at_ms, n.at_ms
FROM dueline.jobs AS h
CROSS JOIN dueline.jobs AS t
CROSS JOIN (
    SELECT
        number, $3::bigint - $6::bigint + number * $6::bigint / $4::bigint AS at_ms, number <= $5::bigint AS rare,
        number % 10 = 0 OR number <= $5::bigint AS is_task, k.kind,
        CASE WHEN number <= $5::bigint THEN 'zebra ' WHEN number <= $4::bigint * 3 / 10 THEN 'legacy ' ELSE '' END
        || (ARRAY['sync', 'close', 'send', 'check'])[number / 5 % 4 + 1] || '-' || k.kind || '-' || lpad(number::text, 7, '0') AS name
    FROM generate_series(1, $4::bigint) AS number
    CROSS JOIN LATERAL (SELECT (ARRAY['invoices', 'reports', 'backups', 'mails', 'orders'])[number % 5 + 1] AS kind) AS k
) AS n
WHERE h.id = $1 AND t.id = $2
"""
_PLANS = """
INSERT INTO dueline.plans (job_id, shard, version, generation, next_ms, due_ms, awaiting, runs_left, delay_ms, zoned, stale)
SELECT j.id, hashtext(j.id::text) & 255, 1, 1, p.next_ms, p.due_ms, NULL, NULL, p.delay_ms, p.zoned, p.stale
FROM dueline.jobs AS j CROSS JOIN dueline.plans AS p
WHERE p.job_id = $1 AND j.id <> ALL($2::uuid[])
"""
# In the order of their ids, as runs end; every fiftieth failed. One job has a hundredth of them.
_HISTORY = """
INSERT INTO dueline.history (
    id, job_id, version, tenant, kind, state, queue, priority, region, scheduled_ms, due_ms, created_ms, claimed_ms, started_ms,
    finished_ms, worker, attempt, lost, reason, tags, parent_id, spec, attempts
)
SELECT
    public.id_at(at_ms, number), CASE WHEN number % 100 = 0 THEN j.ids[1] ELSE j.ids[1 + number % cardinality(j.ids)] END, 1,
    $1, CASE WHEN rare THEN 'manual' ELSE 'scheduled' END,
    CASE WHEN rare THEN 'expired' WHEN number % 50 = 0 THEN 'failed' ELSE 'succeeded' END,
    CASE WHEN rare THEN 'rare' ELSE 'queue-' || number % 10 END, 5, '', at_ms, at_ms, at_ms, at_ms, at_ms,
    at_ms + 200, 'worker', 1, 0,
    CASE WHEN number % 50 <> 0 OR rare THEN NULL WHEN number <= 50 * 100 THEN 'poison' ELSE 'run_timeout' END,
    CASE WHEN rare THEN ARRAY['rare'] ELSE ARRAY['team-' || number % 50] END, NULL, NULL,
    CASE WHEN number % 50 = 0 AND NOT rare THEN '{"outcome":{"kind":"refused","status":500}}' ELSE '{}' END
FROM (
    SELECT number, number <= $4::bigint AS rare, $2::bigint - $5::bigint + number * $5::bigint / $3::bigint AS at_ms
    FROM generate_series(1, $3::bigint) AS number
) AS n
CROSS JOIN (SELECT array_agg(id) AS ids FROM (SELECT id FROM dueline.jobs ORDER BY id LIMIT 100000) AS j) AS j
"""
_LETTERS = """
INSERT INTO dueline.dead_letters (run_id, tenant, job_id, queue, reason, failed_ms)
SELECT id, tenant, job_id, queue, reason, finished_ms FROM dueline.history WHERE tenant = $1 AND state = 'failed'
"""


async def fill(installation: Installation, *, jobs: int, finished: int) -> None:
    """Likenesses of two jobs that the store made, and of what becomes of their runs."""
    store = installation.store
    now_ms = await store.now_ms()
    schedule = Every(period_ms=30 * DAY_MS, anchor_ms=now_ms)
    likes = [
        NewJob(
            id=new_job_id(now_ms, entropy()),
            tenant=DEFAULT_TENANT,
            definition=Definition(name=f"the like of a {kind}", execution=Execution(target=target), schedule=schedule),
            position=Position(next_ms=now_ms + 30 * DAY_MS, due_ms=now_ms + 30 * DAY_MS),
        )
        for kind, target in (("call", HttpTarget(url=_URL)), ("task", TaskTarget(task=_TASK)))
    ]
    await store.create_jobs(likes)
    like, like_task = (UUID(bytes=job.id) for job in likes)
    connection = await asyncpg.connect(installation.dsn, server_settings={"synchronous_commit": "off"})
    try:
        await connection.execute(_ID)
        await connection.execute(_JOBS, like, like_task, now_ms, jobs, RARE, DAYS * DAY_MS, timeout=_FILL_S)
        await connection.execute(_PLANS, like, [like, like_task], timeout=_FILL_S)
        for day in range(DAYS + 1):
            await connection.execute("SELECT dueline.add_history_day($1)", (now_ms // DAY_MS - day) * DAY_MS)
        await connection.execute(_HISTORY, DEFAULT_TENANT, now_ms, finished, RARE, DAYS * DAY_MS, timeout=_FILL_S)
        await connection.execute(_LETTERS, DEFAULT_TENANT, timeout=_FILL_S)
    finally:
        await connection.close()
    await installation.settle()
