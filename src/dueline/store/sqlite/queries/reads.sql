-- name: clock
SELECT now_ms();

-- name: run
-- A run, live or finished.
SELECT
    id, job_id, version, tenant, kind, state, queue, priority, tags, scheduled_ms, due_ms, created_ms, claimed_ms,
    NULL AS started_ms, NULL AS finished_ms, attempt, lost, worker, reason, parent_id, attempts
FROM runs WHERE id = ?2 AND tenant = ?1
UNION ALL
SELECT
    id, job_id, version, tenant, kind, state, queue, priority, tags, scheduled_ms, due_ms, created_ms, claimed_ms,
    started_ms, finished_ms, attempt, lost, worker, reason, parent_id, attempts
FROM history WHERE id = ?2 AND tenant = ?1;

-- name: runs_page
-- Runs below an id, latest scheduled first: live and finished ones merged.
SELECT * FROM (
    SELECT
        id, job_id, version, tenant, kind, state, queue, priority, tags, scheduled_ms, due_ms, created_ms, claimed_ms,
        NULL AS started_ms, NULL AS finished_ms, attempt, lost, worker, reason, parent_id, attempts
    FROM runs
    WHERE
        tenant = ?1 AND id >= ?2 AND id < ?3
        AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR kind = ?5) AND (?6 IS NULL OR instr(tags, ?6))
    ORDER BY id DESC
    LIMIT ?7
)
UNION ALL
SELECT * FROM (
    SELECT
        id, job_id, version, tenant, kind, state, queue, priority, tags, scheduled_ms, due_ms, created_ms, claimed_ms,
        started_ms, finished_ms, attempt, lost, worker, reason, parent_id, attempts
    FROM history
    WHERE
        tenant = ?1 AND id >= ?2 AND id < ?3
        AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR kind = ?5) AND (?6 IS NULL OR instr(tags, ?6))
    ORDER BY id DESC
    LIMIT ?7
)
ORDER BY id DESC
LIMIT ?7;

-- name: runs_page_of_job
-- The same for one job, by the indexes of its runs.
SELECT * FROM (
    SELECT
        id, job_id, version, tenant, kind, state, queue, priority, tags, scheduled_ms, due_ms, created_ms, claimed_ms,
        NULL AS started_ms, NULL AS finished_ms, attempt, lost, worker, reason, parent_id, attempts
    FROM runs INDEXED BY runs_job
    WHERE
        tenant = ?1 AND id >= ?2 AND id < ?3 AND job_id = ?8
        AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR kind = ?5) AND (?6 IS NULL OR instr(tags, ?6))
    ORDER BY id DESC
    LIMIT ?7
)
UNION ALL
SELECT * FROM (
    SELECT
        id, job_id, version, tenant, kind, state, queue, priority, tags, scheduled_ms, due_ms, created_ms, claimed_ms,
        started_ms, finished_ms, attempt, lost, worker, reason, parent_id, attempts
    FROM history INDEXED BY history_job
    WHERE
        tenant = ?1 AND id >= ?2 AND id < ?3 AND job_id = ?8
        AND (?4 IS NULL OR state = ?4) AND (?5 IS NULL OR kind = ?5) AND (?6 IS NULL OR instr(tags, ?6))
    ORDER BY id DESC
    LIMIT ?7
)
ORDER BY id DESC
LIMIT ?7;
