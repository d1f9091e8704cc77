-- name: displace_jobs
-- Displacing locks the jobs first, because a change of a job locks its runs in an order of its own.
SELECT FROM dueline.jobs WHERE id = ANY($1::uuid[]) ORDER BY id FOR NO KEY UPDATE;

-- name: displace_runs
-- Then the blocked runs and those in their way, before the places, as everyone does who ends runs. A blocked run that is held by now
-- belongs to whoever has the place locked.
WITH in_the_way AS MATERIALIZED (
    SELECT run_id FROM dueline.places WHERE job_id = ANY($2::uuid[])
)
SELECT id
FROM dueline.runs
WHERE
    id = ANY($1::uuid[] || ARRAY(SELECT run_id FROM in_the_way))
    AND (state IN ('ready', 'running') OR id IN (SELECT run_id FROM in_the_way))
ORDER BY id
FOR UPDATE;

-- name: displace_found
-- Then the places: blocked runs that still are, each with the run in its way, and whether that one is being executed. A place whose run
-- is gone counts as one that is not; one that another run has got meanwhile is left for the next time.
SELECT
    c.id, c.job_id, p.run_id,
    coalesce(
        (SELECT o.state = 'running' AND o.due_ms <= dueline.now_ms() FROM dueline.runs AS o WHERE o.id = p.run_id), false
    ) AS executing
FROM (
    SELECT r.id, r.job_id
    FROM ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS b (id, token)
    JOIN dueline.runs AS r ON r.id = b.id AND r.token = b.token AND r.state IN ('ready', 'running') AND r.id = ANY($1::uuid[])
    ORDER BY r.job_id
) AS c
CROSS JOIN LATERAL (
    SELECT i.run_id
    FROM dueline.places AS i
    WHERE
        i.job_id = c.job_id AND i.run_id <> c.id
        AND (i.run_id = ANY($3::uuid[]) OR (SELECT true FROM dueline.runs AS o WHERE o.id = i.run_id) IS NOT TRUE)
    FOR UPDATE
) AS p;

-- name: displace_older
-- move: cancel
-- Runs that end because a later run of their job is held now: those named, which are locked, and those that waited for the same place.
WITH ended AS (
    DELETE FROM dueline.runs AS r
    USING ROWS FROM (unnest($1::uuid[], $2::uuid[]), generate_subscripts($1::uuid[], 1)) AS h (id, job_id)
    WHERE
        r.job_id = h.job_id AND r.job_id = ANY($2::uuid[]) AND r.id <> h.id
        AND (r.id = ANY($3::uuid[]) OR (r.state = 'held' AND r.waits_for IS NULL AND r.reason = 'overlap' AND r.id < h.id))
    RETURNING r.*, r.attempt - CASE r.state WHEN 'running' THEN 1 ELSE 0 END AS attempts_made
),
-- part: idle (state = 'cancelled'; attempt = attempts_made; reason = $4)
SELECT id, job_id, finished_ms FROM kept;

-- name: displace_ask
-- Runs under way are asked to end; one that was asked before keeps its reason.
UPDATE dueline.runs SET cancel = $2
WHERE id = ANY($1::uuid[]) AND state = 'running' AND cancel IS NULL
RETURNING id;

-- name: cancels_of
-- Runs that a worker executes and that are to end.
SELECT id, token, cancel FROM dueline.runs WHERE worker = $1 AND cancel IS NOT NULL AND state = 'running';

-- name: sweep_found
-- Runs that are to end and that nobody executes; `sweep_cancelled` follows, when their plans are locked.
SELECT id
FROM dueline.runs
WHERE cancel IS NOT NULL AND state IN ('scheduled', 'ready', 'held', 'retrying')
LIMIT $1;

-- name: sweep_cancelled
-- move: cancel
-- Runs that are to end and that nobody executes end here, each with its reason.
WITH chosen AS MATERIALIZED (
    SELECT id
    FROM dueline.runs
    -- Said in this way, it is no question for the index of all that are to end.
    WHERE id = ANY($1::uuid[]) AND (cancel IS NOT NULL) IS TRUE AND state IN ('scheduled', 'ready', 'held', 'retrying')
    ORDER BY id
    FOR UPDATE
), ended AS (
    DELETE FROM dueline.runs AS r WHERE r.id = ANY(ARRAY(SELECT id FROM chosen)) RETURNING r.*
),
-- part: idle (state = 'cancelled'; attempt = attempt; reason = cancel)
SELECT id, job_id, finished_ms FROM kept;

-- name: cancel_waiting
-- move: cancel
-- Runs that end before they started, each for its reason.
WITH chosen AS MATERIALIZED (
    SELECT id
    FROM dueline.runs
    WHERE id = ANY($1::uuid[]) AND state IN ('scheduled', 'ready', 'held') AND begun_ms IS NULL
    ORDER BY id
    FOR UPDATE
), ended AS (
    DELETE FROM dueline.runs AS r
    USING ROWS FROM (unnest($1::uuid[], $2::text[]), generate_subscripts($1::uuid[], 1)) AS c (id, reason)
    WHERE r.id = c.id AND r.id = ANY(ARRAY(SELECT id FROM chosen))
    RETURNING r.*, c.reason AS why
),
-- part: idle (state = 'cancelled'; attempt = attempt; reason = why)
SELECT id, job_id, finished_ms FROM kept;

-- name: lock_runs
-- Cancelling locks the runs first: whoever asks to confirm a claim waits, and is told the same as the one who cancels.
SELECT FROM dueline.runs WHERE id = ANY($2::uuid[]) AND tenant = $1 ORDER BY id FOR UPDATE;

-- name: cancel_found
-- Then it reads the clock: a tenant's runs as they stand, and whether each is being executed; null where it has ended.
SELECT id, state = 'running' AND due_ms <= dueline.now_ms() AS executing
FROM dueline.runs
WHERE id = ANY($2::uuid[]) AND tenant = $1
UNION ALL
SELECT id, NULL FROM dueline.history WHERE id = ANY($2::uuid[]) AND tenant = $1;

-- name: cancel_runs
-- move: cancel
-- Runs that are locked and that nobody executes, those claimed ahead of their time included, end here.
WITH ended AS (
    DELETE FROM dueline.runs AS r
    WHERE r.id = ANY($1::uuid[]) AND r.state IN ('scheduled', 'ready', 'held', 'retrying', 'running')
    RETURNING r.*, r.attempt - CASE r.state WHEN 'running' THEN 1 ELSE 0 END AS attempts_made
),
-- part: idle (state = 'cancelled'; attempt = attempts_made; reason = $2)
SELECT id, job_id, finished_ms FROM kept;

-- name: expire_found
-- Unstarted runs whose time to start has passed; `expire` follows, when their plans are locked. That none of their attempts counts is for the
-- index; one that does not was an attempt, too.
SELECT id
FROM dueline.runs
WHERE
    expires_ms IS NOT NULL AND expires_ms <= dueline.now_ms() AND attempt = 0 AND begun_ms IS NULL
    AND state IN ('scheduled', 'ready', 'held', 'retrying')
ORDER BY expires_ms
LIMIT $1;

-- name: expire
-- move: expire
-- Unstarted runs whose time to start has passed end here.
WITH chosen AS MATERIALIZED (
    SELECT id
    FROM dueline.runs
    WHERE
        -- Said in this way, it is no question for the index of all that come too late.
        id = ANY($1::uuid[]) AND (expires_ms <= dueline.now_ms()) IS TRUE AND begun_ms IS NULL
        AND state IN ('scheduled', 'ready', 'held', 'retrying')
    ORDER BY id
    FOR UPDATE
), ended AS (
    DELETE FROM dueline.runs AS r WHERE r.id = ANY(ARRAY(SELECT id FROM chosen)) RETURNING r.*
),
-- part: idle (state = 'expired'; attempt = attempt; reason = 'expired')
SELECT id, job_id, finished_ms FROM kept;
