-- name: keep
-- Runs that failed, as nobody has dealt with them yet; their records were written before, in the same transaction.
INSERT INTO dead_letters (tenant, run_id, job_id, queue, reason, failed_ms)
SELECT h.tenant, h.id, h.job_id, h.queue, h.reason, h.finished_ms
FROM json_each(?1) AS j
CROSS JOIN history AS h ON h.id = unhex(j.value)
WHERE h.state = 'failed'
ON CONFLICT DO NOTHING;

-- name: page
-- A tenant's dead letters below a run id, latest scheduled first.
SELECT
    h.id, h.job_id, h.version, h.tenant, h.kind, h.state, h.queue, h.priority, h.tags, h.scheduled_ms, h.due_ms, h.created_ms,
    h.claimed_ms, h.started_ms, h.finished_ms, h.attempt, h.lost, h.worker, h.reason, h.parent_id, h.attempts, h.spec, d.failed_ms
FROM dead_letters AS d
CROSS JOIN history AS h ON h.id = d.run_id
WHERE
    d.tenant = ?1 AND d.run_id < ?2
    AND (?3 IS NULL OR d.job_id = ?3)
    AND (?4 IS NULL OR d.queue = ?4)
    AND (?5 IS NULL OR d.reason = ?5)
    AND (?6 IS NULL OR d.failed_ms >= ?6)
    AND (?7 IS NULL OR d.failed_ms < ?7)
ORDER BY d.run_id DESC
LIMIT ?8;

-- name: get
-- One dead letter.
SELECT
    h.id, h.job_id, h.version, h.tenant, h.kind, h.state, h.queue, h.priority, h.tags, h.scheduled_ms, h.due_ms, h.created_ms,
    h.claimed_ms, h.started_ms, h.finished_ms, h.attempt, h.lost, h.worker, h.reason, h.parent_id, h.attempts, h.spec, d.failed_ms
FROM dead_letters AS d
CROSS JOIN history AS h ON h.id = d.run_id
WHERE d.tenant = ?1 AND d.run_id = ?2;

-- name: count
-- How many of a tenant's dead letters match.
SELECT count(*)
FROM dead_letters AS d
WHERE
    d.tenant = ?1
    AND (?2 IS NULL OR d.job_id = ?2)
    AND (?3 IS NULL OR d.queue = ?3)
    AND (?4 IS NULL OR d.reason = ?4)
    AND (?5 IS NULL OR d.failed_ms >= ?5)
    AND (?6 IS NULL OR d.failed_ms < ?6);

-- name: found
-- First step of redriving: dead letters that are still there. `runs.enqueue`, `redriven` and `purge` follow.
SELECT d.run_id
FROM json_each(?2) AS j
CROSS JOIN dead_letters AS d ON d.tenant = ?1 AND d.run_id = unhex(j.value);

-- name: redriven
-- Dead letters, each given with the run that is to take its place, for which that run exists, live or finished.
SELECT unhex(d.value ->> 0)
FROM jsonb_each(?2) AS d
WHERE
    EXISTS (
        SELECT 1 FROM runs AS r
        WHERE r.id = unhex(d.value ->> 1) AND r.tenant = ?1 AND r.parent_id = unhex(d.value ->> 0)
    )
    OR EXISTS (
        SELECT 1 FROM history AS h
        WHERE h.id = unhex(d.value ->> 1) AND h.tenant = ?1 AND h.parent_id = unhex(d.value ->> 0)
    );

-- name: finished
-- A run that has ended, with what it executed.
SELECT
    id, job_id, version, tenant, kind, state, queue, priority, tags, scheduled_ms, due_ms, created_ms, claimed_ms,
    started_ms, finished_ms, attempt, lost, worker, reason, parent_id, attempts, spec
FROM history
WHERE id = ?2 AND tenant = ?1;

-- name: purge
-- Dead letters that somebody dealt with.
DELETE FROM dead_letters
WHERE tenant = ?1 AND run_id IN (SELECT unhex(value) FROM json_each(?2))
RETURNING run_id;
