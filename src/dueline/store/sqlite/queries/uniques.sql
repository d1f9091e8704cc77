-- name: found
-- The runs that have keys, live or over.
SELECT
    u.tenant, u.key, u.run_id, u.taken_ms, u.until_ms, coalesce(r.state, h.state) AS state, coalesce(r.attempts <> '', true) AS tried,
    coalesce(r.due_ms, h.due_ms) AS due_ms
FROM jsonb_each(?1) AS a
CROSS JOIN uniques AS u ON u.tenant = a.value ->> 0 AND u.key = a.value ->> 1
LEFT JOIN runs AS r ON r.id = u.run_id
LEFT JOIN history AS h ON h.id = u.run_id;

-- name: take
-- Keys go to other runs; who has one already keeps it as it is.
INSERT INTO uniques (tenant, key, run_id, taken_ms, until_ms, sweep_ms)
SELECT
    value ->> 0, value ->> 1, unhex(value ->> 2), now_ms(), now_ms() + (value ->> 3),
    max(now_ms() + (value ->> 3), now_ms() + ?2, (value ->> 4) + ?2)
FROM jsonb_each(?1)
WHERE true
ON CONFLICT (tenant, key) DO UPDATE
SET run_id = excluded.run_id, taken_ms = excluded.taken_ms, until_ms = excluded.until_ms, sweep_ms = excluded.sweep_ms
WHERE uniques.run_id <> excluded.run_id;

-- name: reschedule
-- move: reschedule
-- Unstarted runs wait for other due times, those claimed ahead of their time included. What they waited for meanwhile is asked again then;
-- one whose job is paused stays held. Until when they may start moves along. `leave_places` follows.
UPDATE runs
SET
    state = CASE runs.reason WHEN 'paused' THEN 'held' ELSE 'scheduled' END, reason = CASE runs.reason WHEN 'paused' THEN 'paused' END,
    waits_for = NULL, due_ms = d.due_ms, expires_ms = runs.expires_ms + d.due_ms - runs.due_ms, token = runs.token + 1, worker = NULL,
    claimed_ms = NULL, attempt = 0
FROM (SELECT unhex(value ->> 0) AS run_id, value ->> 1 AS due_ms FROM jsonb_each(?1)) AS d
WHERE runs.id = d.run_id AND runs.state IN ('scheduled', 'ready', 'held', 'running')
RETURNING id, job_id;

-- name: aged
-- First step of forgetting: keys that are due to be looked at, each with when its run is due, if that is live.
SELECT u.tenant, u.key, r.due_ms
FROM uniques AS u INDEXED BY uniques_sweep
LEFT JOIN runs AS r ON r.id = u.run_id
WHERE u.sweep_ms <= now_ms()
ORDER BY u.sweep_ms
LIMIT ?1;

-- name: put_off
-- Keys of live runs are looked at again when the run is twice as old: each is looked at a few times only.
UPDATE uniques
SET sweep_ms = max(2 * now_ms() - uniques.taken_ms, now_ms() + ?2, l.due_ms + ?2)
FROM (SELECT value ->> 0 AS tenant, value ->> 1 AS key, value ->> 2 AS due_ms FROM jsonb_each(?1)) AS l
WHERE uniques.tenant = l.tenant AND uniques.key = l.key;

-- name: forget
-- Keys that are free go.
DELETE FROM uniques WHERE (tenant, key) IN (SELECT value ->> 0, value ->> 1 FROM jsonb_each(?1));
