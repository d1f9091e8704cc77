-- name: keep
-- Look at jobs soon, from their first run on: how long they keep their runs was said anew.
INSERT INTO dueline.retentions (job_id, look_ms)
SELECT k.job_id, dueline.now_ms() FROM unnest($1::uuid[]) AS k (job_id) ORDER BY k.job_id
ON CONFLICT (job_id) DO UPDATE SET look_ms = excluded.look_ms, from_id = NULL;

-- name: due
-- Jobs to look at, those first that waited longest. Who changes one meanwhile waits, or is looked at next time.
SELECT r.job_id, r.from_id, j.definition, j.deleted_ms IS NOT NULL AS deleted
FROM dueline.retentions AS r
CROSS JOIN LATERAL (SELECT definition, deleted_ms FROM dueline.jobs WHERE id = r.job_id OFFSET 0) AS j
WHERE r.look_ms <= dueline.now_ms()
ORDER BY r.look_ms
LIMIT $1
FOR UPDATE OF r SKIP LOCKED;

-- name: looked
-- Finished runs of a job behind one and below another, in the order of what they were scheduled for.
SELECT tenant, id, finished_ms
FROM dueline.history
WHERE job_id = $1 AND id > $2 AND id < $3
ORDER BY id
LIMIT $4;

-- name: forget
-- Runs that are between two ids, by theirs: so the days of others are not asked.
DELETE FROM dueline.history WHERE id = ANY($1::uuid[]) AND id >= $2 AND id <= $3;

-- name: left
-- The first of a job's finished runs, and whether it has any that live.
SELECT
    (SELECT id FROM dueline.history WHERE job_id = $1 ORDER BY id LIMIT 1) AS first_id,
    EXISTS (SELECT FROM dueline.runs WHERE job_id = $1) AS lives;

-- name: put_off
-- When to look at a job next, from where on, and up to when its runs may be gone.
UPDATE dueline.retentions
SET look_ms = $2, from_id = $3, swept_ms = greatest(swept_ms, $4)
WHERE job_id = $1;
