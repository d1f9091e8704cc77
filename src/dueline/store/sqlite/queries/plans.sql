-- name: due
-- Plans to act on, earliest first: one bounded index scan.
SELECT job_id, shard, version, generation, next_ms
FROM plans
WHERE due_ms >= ?2 AND due_ms <= ?3 AND shard IN (SELECT value FROM json_each(?1))
ORDER BY due_ms
LIMIT ?4;

-- name: fire_move
-- First step of firing: move schedules, for those shards whose epoch is still the caller's.
UPDATE plans
SET next_ms = f.following_ms, due_ms = f.following_ms
FROM (
    SELECT
        unhex(value ->> 0) AS job_id, value ->> 1 AS shard, value ->> 2 AS epoch, value ->> 3 AS generation, value ->> 4 AS next_ms,
        value ->> 5 AS following_ms
    FROM jsonb_each(?1)
) AS f
WHERE
    f.following_ms IS NOT NULL
    AND plans.job_id = f.job_id AND plans.generation = f.generation AND plans.next_ms = f.next_ms AND plans.due_ms IS NOT NULL
    AND EXISTS (SELECT 1 FROM shards AS s WHERE s.shard = f.shard AND s.epoch = f.epoch)
RETURNING job_id;

-- name: fire_exhaust
-- The same for schedules that have nothing left: the plan goes.
DELETE FROM plans
WHERE
    due_ms IS NOT NULL
    AND job_id IN (SELECT unhex(value ->> 0) FROM jsonb_each(?1))
    AND (job_id, generation, next_ms) IN (
        SELECT unhex(f.value ->> 0), f.value ->> 3, f.value ->> 4
        FROM jsonb_each(?1) AS f
        WHERE
            f.value ->> 5 IS NULL
            AND EXISTS (SELECT 1 FROM shards AS s WHERE s.shard = f.value ->> 1 AND s.epoch = f.value ->> 2)
    )
RETURNING job_id;

-- name: fire_finish
-- A job whose plan went is finished.
UPDATE jobs SET state = 'finished', updated_ms = now_ms()
WHERE id IN (SELECT unhex(value) FROM json_each(?1)) AND state = 'active';

-- name: fire
-- move: fire
-- Last step of firing: write the runs of those jobs whose schedules moved. One that exists, live or finished, stays as it is.
INSERT INTO runs (
    id, job_id, version, tenant, kind, state, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms,
    created_ms, token, attempt, lost, tags, attempts
)
SELECT
    unhex(value ->> 0), unhex(value ->> 1), value ->> 2, value ->> 3, value ->> 4, 'ready', value ->> 5, value ->> 6, value ->> 7,
    value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, now_ms(), value ->> 16, 0, 0, value ->> 13, ''
FROM jsonb_each(?1)
WHERE NOT EXISTS (SELECT 1 FROM history AS h WHERE h.id = unhex(value ->> 0))
ON CONFLICT (id) DO NOTHING;
