-- name: keep
-- Look at jobs soon, from their first run on: how long they keep their runs was said anew.
INSERT INTO retentions (job_id, look_ms)
SELECT unhex(value), now_ms() FROM json_each(?1) WHERE true
ON CONFLICT (job_id) DO UPDATE SET look_ms = excluded.look_ms, from_id = NULL;

-- name: due
-- Jobs to look at, those first that waited longest.
SELECT r.job_id, r.from_id, j.definition, j.deleted_ms IS NOT NULL AS deleted
FROM retentions AS r INDEXED BY retentions_look
CROSS JOIN jobs AS j ON j.id = r.job_id
WHERE r.look_ms <= now_ms()
ORDER BY r.look_ms
LIMIT ?1;

-- name: looked
-- Finished runs of a job behind one and below another, in the order of what they were scheduled for.
SELECT tenant, id, finished_ms
FROM history INDEXED BY history_job
WHERE job_id = ?1 AND id > ?2 AND id < ?3
ORDER BY id
LIMIT ?4;

-- name: forget
-- Runs by their ids.
DELETE FROM history WHERE id IN (SELECT unhex(value) FROM json_each(?1));

-- name: left
-- The first of a job's finished runs, and whether it has any that live.
SELECT
    (SELECT id FROM history INDEXED BY history_job WHERE job_id = ?1 ORDER BY id LIMIT 1) AS first_id,
    EXISTS (SELECT 1 FROM runs WHERE job_id = ?1) AS lives;

-- name: put_off
-- When to look at a job next, from where on, and up to when its runs may be gone.
UPDATE retentions
SET look_ms = ?2, from_id = ?3, swept_ms = max(swept_ms, ?4)
WHERE job_id = ?1;
