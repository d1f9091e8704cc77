-- name: due
-- Plans to act on, earliest first: one bounded index scan.
SELECT job_id, shard, version, generation, next_ms, runs_left
FROM plans
WHERE due_ms >= ?2 AND due_ms <= ?3 AND shard IN (SELECT value FROM json_each(?1))
ORDER BY due_ms
LIMIT ?4;

-- name: crowds
-- Seconds in which many plans are to be acted on.
SELECT due_ms / 1000 * 1000 AS second_ms, count(*) AS plans
FROM plans
WHERE due_ms >= ?2 AND due_ms < ?3 AND shard IN (SELECT value FROM json_each(?1))
GROUP BY second_ms
HAVING count(*) >= ?4;

-- name: next_due
-- When there is something to do next: the first entry of each of three indexes.
SELECT min(due_ms) FROM (
    SELECT min(due_ms) AS due_ms FROM plans WHERE due_ms IS NOT NULL
    UNION ALL
    SELECT min(due_ms) FROM runs WHERE state IN ('scheduled', 'retrying')
    UNION ALL
    SELECT min(refill_ms) FROM gates WHERE refill_ms IS NOT NULL
);

-- name: fire_move
-- First step of firing: move schedules, for those shards whose epoch is still the caller's.
UPDATE plans
SET next_ms = f.following_ms, due_ms = f.due_ms, awaiting = f.awaiting, runs_left = f.runs_left
FROM (
    SELECT
        unhex(value ->> 0) AS job_id, value ->> 1 AS shard, value ->> 2 AS epoch, value ->> 3 AS generation, value ->> 4 AS next_ms,
        value ->> 5 AS following_ms, value ->> 6 AS due_ms, unhex(value ->> 7) AS awaiting, value ->> 8 AS runs_left
    FROM jsonb_each(?1)
) AS f
WHERE
    (f.following_ms IS NOT NULL OR f.awaiting IS NOT NULL)
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
            f.value ->> 5 IS NULL AND f.value ->> 7 IS NULL
            AND EXISTS (SELECT 1 FROM shards AS s WHERE s.shard = f.value ->> 1 AND s.epoch = f.value ->> 2)
    )
RETURNING job_id;

-- name: fire_finish
-- A job whose plan went is finished.
UPDATE jobs SET state = 'finished', updated_ms = now_ms()
WHERE id IN (SELECT unhex(value) FROM json_each(?1)) AND state = 'active'
RETURNING id, version;

-- name: fire
-- move: fire
-- Last step of firing: write the runs of those jobs whose schedules moved. One that is not due soon waits outside the ready queue; one
-- that exists, live or finished, stays as it is.
INSERT INTO runs (
    id, job_id, version, tenant, kind, state, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms,
    created_ms, token, attempt, lost, tags, attempts, overlap, lane, expires_ms
)
SELECT
    unhex(value ->> 0), unhex(value ->> 1), value ->> 2, value ->> 3, value ->> 4,
    CASE WHEN value ->> 12 > now_ms() + ?2 THEN 'scheduled' ELSE 'ready' END,
    value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, now_ms(),
    value ->> 16, 0, 0, value ->> 13, '', value ->> 17, value ->> 18, value ->> 19
FROM jsonb_each(?1)
WHERE NOT EXISTS (SELECT 1 FROM history AS h WHERE h.id = unhex(value ->> 0))
ON CONFLICT (id) DO NOTHING;

-- name: follow
-- Schedules that await the end of these runs go on from it. A paused job gets the occurrence, and nothing to act on.
UPDATE plans
SET
    next_ms = e.ended_ms + plans.delay_ms, awaiting = NULL,
    due_ms = CASE WHEN EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = e.job_id AND j.state = 'active') THEN e.ended_ms + plans.delay_ms END
FROM (
    SELECT unhex(value ->> 0) AS run_id, unhex(value ->> 1) AS job_id, value ->> 2 AS ended_ms FROM jsonb_each(?1)
) AS e
WHERE plans.job_id = e.job_id AND plans.awaiting = e.run_id
RETURNING job_id;

-- name: follow_lost
-- Schedules that await a run which is not live go on from now.
UPDATE plans INDEXED BY plans_awaiting
SET
    next_ms = now_ms() + delay_ms, awaiting = NULL,
    due_ms = CASE WHEN EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = plans.job_id AND j.state = 'active') THEN now_ms() + delay_ms END
WHERE awaiting IS NOT NULL AND NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.id = plans.awaiting)
RETURNING job_id;

-- name: stale
-- Plans that must be looked at again: as a rule none, and then it does not matter which shards were asked for.
SELECT j.tenant, p.job_id
FROM plans AS p INDEXED BY plans_stale
CROSS JOIN jobs AS j ON j.id = p.job_id
WHERE p.stale AND +p.shard IN (SELECT value FROM json_each(?1))
LIMIT ?2;

-- name: older_zones
-- Shards whose plans were made by older rules of the time zones, if they are still the caller's: as a rule none.
SELECT s.shard, s.epoch
FROM jsonb_each(?1) AS t
CROSS JOIN shards AS s ON s.shard = t.value ->> 0 AND s.epoch = t.value ->> 1
WHERE s.tzdata < ?2
ORDER BY s.shard;

-- name: adopt_zones
-- Some of these shards, if they still are both; `spoil_zoned` follows.
UPDATE shards
SET tzdata = ?2
FROM (SELECT value ->> 0 AS shard, value ->> 1 AS epoch FROM jsonb_each(?1)) AS t
WHERE shards.shard = t.shard AND shards.epoch = t.epoch AND shards.tzdata < ?2
RETURNING shard;

-- name: spoil_zoned
-- The plans of some shards that depend on a time zone must be looked at again.
UPDATE plans INDEXED BY plans_zoned SET stale = 1
WHERE zoned AND shard IN (SELECT value FROM json_each(?1)) AND NOT stale
RETURNING job_id;
