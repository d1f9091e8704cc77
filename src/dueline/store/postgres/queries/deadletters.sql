-- name: page
-- Failed runs below an id that nobody has dealt with, latest scheduled first. The runs are asked for one by one, each in its day of
-- history: joined, a generic plan could read all days instead.
SELECT h.*, d.failed_ms
FROM dueline.dead_letters AS d
CROSS JOIN LATERAL (
    SELECT
        id, job_id, version, tenant, kind, state, queue, priority, tags, scheduled_ms, due_ms, created_ms, claimed_ms,
        started_ms, finished_ms, attempt, lost, worker, reason, parent_id, attempts, spec
    FROM dueline.history
    WHERE id = d.run_id
    OFFSET 0
) AS h
WHERE
    d.tenant = $1 AND d.run_id < $2
    AND CASE WHEN $3::uuid IS NULL THEN true ELSE d.job_id = $3 END
    AND CASE WHEN $4::text IS NULL THEN true ELSE d.queue = $4 END
    AND CASE WHEN $5::text IS NULL THEN true ELSE d.reason = $5 END
    AND CASE WHEN $6::bigint IS NULL THEN true ELSE d.failed_ms >= $6 END
    AND CASE WHEN $7::bigint IS NULL THEN true ELSE d.failed_ms < $7 END
ORDER BY d.run_id DESC
LIMIT $8;

-- name: get
-- One of them.
SELECT
    h.id, h.job_id, h.version, h.tenant, h.kind, h.state, h.queue, h.priority, h.tags, h.scheduled_ms, h.due_ms, h.created_ms,
    h.claimed_ms, h.started_ms, h.finished_ms, h.attempt, h.lost, h.worker, h.reason, h.parent_id, h.attempts, h.spec, d.failed_ms
FROM dueline.dead_letters AS d
JOIN dueline.history AS h ON h.id = d.run_id
WHERE d.run_id = $2 AND d.tenant = $1;

-- name: count
-- How many there are.
SELECT count(*)
FROM dueline.dead_letters AS d
WHERE
    d.tenant = $1
    AND CASE WHEN $2::uuid IS NULL THEN true ELSE d.job_id = $2 END
    AND CASE WHEN $3::text IS NULL THEN true ELSE d.queue = $3 END
    AND CASE WHEN $4::text IS NULL THEN true ELSE d.reason = $4 END
    AND CASE WHEN $5::bigint IS NULL THEN true ELSE d.failed_ms >= $5 END
    AND CASE WHEN $6::bigint IS NULL THEN true ELSE d.failed_ms < $6 END;

-- name: found
-- First step of redriving: dead letters that are still there, locked in the order of the ids, as everywhere. Another request for the same
-- ones waits, and finds them gone. `runs.enqueue`, `redriven` and `purge` follow.
SELECT run_id FROM dueline.dead_letters WHERE run_id = ANY($2::uuid[]) AND (tenant = $1) IS TRUE ORDER BY run_id FOR UPDATE;

-- name: redriven
-- Dead letters, each given with the run that is to take its place, for which that run exists, live or finished.
SELECT a.run_id
FROM unnest($2::uuid[], $3::uuid[]) AS a (run_id, new_id)
WHERE
    EXISTS (SELECT FROM dueline.runs AS r WHERE r.id = a.new_id AND r.parent_id = a.run_id AND r.tenant = $1)
    OR EXISTS (SELECT FROM dueline.history AS h WHERE h.id = a.new_id AND h.parent_id = a.run_id AND h.tenant = $1);

-- name: finished
-- A run that has ended, with what it executed.
SELECT
    id, job_id, version, tenant, kind, state, queue, priority, tags, scheduled_ms, due_ms, created_ms, claimed_ms,
    started_ms, finished_ms, attempt, lost, worker, reason, parent_id, attempts, spec
FROM dueline.history
WHERE id = $2 AND tenant = $1;

-- name: lock_finished
-- First step of trying a finished run again: who else does so waits. `purge`, `redriven` and `runs.enqueue` follow.
SELECT id FROM dueline.history WHERE id = $2 AND tenant = $1 FOR UPDATE;

-- name: purge
-- Somebody has dealt with them. Locked in the order of the ids, as everywhere.
DELETE FROM dueline.dead_letters
WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM dueline.dead_letters WHERE run_id = ANY($2::uuid[]) AND (tenant = $1) IS TRUE ORDER BY run_id FOR UPDATE
))
RETURNING run_id;
