-- name: displace_found
-- First step of displacing: blocked runs that still are, each with the run in its way, and whether that one is being executed. A place
-- whose run is gone counts as one that is not.
SELECT r.id, r.job_id, p.run_id, coalesce(o.state = 'running' AND o.due_ms <= now_ms(), 0) AS executing
FROM jsonb_each(?1) AS b
CROSS JOIN runs AS r ON r.id = unhex(b.value ->> 0) AND r.token = b.value ->> 1 AND r.state IN ('ready', 'running')
CROSS JOIN places AS p ON p.job_id = r.job_id AND p.run_id <> r.id
LEFT JOIN runs AS o ON o.id = p.run_id;

-- name: displace_older
-- move: cancel
-- The record of runs that waited for the same place, and end because a later run waits for it now; `runs.end` follows.
-- part: idle (state = 'cancelled'; attempt = r.attempt; reason = ?2)
FROM jsonb_each(?1) AS b
CROSS JOIN runs AS r INDEXED BY runs_held ON r.job_id = unhex(b.value ->> 1) AND r.id < unhex(b.value ->> 0)
WHERE r.state = 'held' AND r.waits_for IS NULL AND r.reason = 'overlap'
ON CONFLICT (id) DO NOTHING
RETURNING id, job_id;

-- name: displace_ask
-- Runs under way are asked to end; one that was asked before keeps its reason.
UPDATE runs SET cancel = ?2
WHERE id IN (SELECT unhex(value) FROM json_each(?1)) AND state = 'running' AND cancel IS NULL
RETURNING id;

-- name: cancels_of
-- Runs that a worker executes and that are to end.
SELECT id, token, cancel FROM runs INDEXED BY runs_cancel WHERE cancel IS NOT NULL AND state = 'running' AND worker = ?1;

-- name: sweep_cancelled
-- move: cancel
-- The record of runs that are to end and that nobody executes; `runs.end` and `runs.leave_places` follow.
-- part: idle (state = 'cancelled'; attempt = r.attempt; reason = r.cancel)
FROM runs AS r INDEXED BY runs_cancel
WHERE r.cancel IS NOT NULL AND r.state IN ('scheduled', 'ready', 'held', 'retrying')
LIMIT ?1
ON CONFLICT (id) DO NOTHING
RETURNING id, job_id;

-- name: cancel_waiting
-- move: cancel
-- The record of runs that end before they started, each for its reason; `runs.end` and `runs.leave_places` follow.
-- part: idle (state = 'cancelled'; attempt = r.attempt; reason = c.value ->> 1)
FROM jsonb_each(?1) AS c
CROSS JOIN runs AS r ON r.id = unhex(c.value ->> 0)
WHERE r.state IN ('scheduled', 'ready', 'held') AND r.begun_ms IS NULL
ON CONFLICT (id) DO NOTHING
RETURNING id, job_id;

-- name: cancel_found
-- First step of cancelling: a tenant's runs as they stand, and whether each is being executed; null where it has ended.
SELECT r.id, r.job_id, r.state = 'running' AND r.due_ms <= now_ms() AS executing
FROM json_each(?2) AS j
CROSS JOIN runs AS r ON r.id = unhex(j.value)
WHERE r.tenant = ?1
UNION ALL
SELECT h.id, h.job_id, NULL
FROM json_each(?2) AS j
CROSS JOIN history AS h ON h.id = unhex(j.value)
WHERE h.tenant = ?1;

-- name: expire
-- move: expire
-- The record of runs that could not be started in time; `runs.end` and `runs.leave_places` follow. That none of their attempts counts is for
-- the index; one that does not was an attempt, too.
-- part: idle (state = 'expired'; attempt = r.attempt; reason = 'expired')
FROM runs AS r INDEXED BY runs_expiring
WHERE
    r.expires_ms IS NOT NULL AND r.attempt = 0 AND r.state IN ('scheduled', 'ready', 'held', 'retrying')
    AND r.expires_ms <= now_ms() AND r.begun_ms IS NULL
ORDER BY r.expires_ms
LIMIT ?1
ON CONFLICT (id) DO NOTHING
RETURNING id, job_id;
