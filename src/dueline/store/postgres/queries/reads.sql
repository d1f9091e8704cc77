-- name: clock
SELECT dueline.now_ms();

-- name: run
-- A run, live or finished.
SELECT
    -- part: live_run
FROM dueline.runs WHERE id = $2 AND tenant = $1
UNION ALL
SELECT
    -- part: ended_run
FROM dueline.history WHERE id = $2 AND tenant = $1;

-- name: runs_page
-- Runs below an id, latest scheduled first: live and finished ones merged.
(
    SELECT
        -- part: live_run
    FROM dueline.runs
    WHERE
        tenant = $1 AND id >= $2 AND id < $3
        AND ($4::text IS NULL OR state = $4)
        -- part: run_matching
        -- part: searched (longest = $9; begun = $10)
    ORDER BY id DESC
    LIMIT $7
)
UNION ALL
(
    SELECT
        -- part: ended_run
    FROM dueline.history
    WHERE
        tenant = $1 AND id >= $2 AND id < $3
        AND ($4::text IS NULL OR state = $4)
        -- part: run_matching
        -- part: searched (longest = $9; begun = $10)
    ORDER BY id DESC
    LIMIT $7
)
ORDER BY id DESC
LIMIT $7;

-- name: runs_page_of_job
-- The same for one job, by the indexes of its runs.
(
    SELECT
        -- part: live_run
    FROM dueline.runs
    WHERE
        tenant = $1 AND id >= $2 AND id < $3 AND job_id = $9
        AND ($4::text IS NULL OR state = $4)
        -- part: run_matching
        -- part: searched (longest = $10; begun = $11)
    ORDER BY id DESC
    LIMIT $7
)
UNION ALL
(
    SELECT
        -- part: ended_run
    FROM dueline.history
    WHERE
        tenant = $1 AND id >= $2 AND id < $3 AND job_id = $9
        AND ($4::text IS NULL OR state = $4)
        -- part: run_matching
        -- part: searched (longest = $10; begun = $11)
    ORDER BY id DESC
    LIMIT $7
)
ORDER BY id DESC
LIMIT $7;

-- name: runs_page_unsuccessful
-- The same for a state in which runs end without success, which few of very many do: finished ones only, by the index of those.
SELECT
    -- part: ended_run
FROM dueline.history
WHERE
    tenant = $1 AND id >= $2 AND id < $3
    AND state = $4 AND state <> 'succeeded'
    -- part: run_matching
    -- part: searched (longest = $9; begun = $10)
ORDER BY id DESC
LIMIT $7;

-- name: runs_page_succeeded
-- The same for the state in which most runs end: finished ones only.
SELECT
    -- part: ended_run
FROM dueline.history
WHERE
    tenant = $1 AND id >= $2 AND id < $3
    AND state = $4
    -- part: run_matching
    -- part: searched (longest = $9; begun = $10)
ORDER BY id DESC
LIMIT $7;


-- name: runs_page_waiting
-- The same for a state in which runs wait: none of the finished ones, of which there are many more, is in it.
SELECT
    -- part: live_run
FROM dueline.runs
WHERE
    tenant = $1 AND id >= $2 AND id < $3
    AND state = $4
    -- part: run_matching
    -- part: searched (longest = $9; begun = $10)
ORDER BY id DESC
LIMIT $7;

-- name: runs_page_running
-- The same for those that a worker has, by the index of these: many more may wait.
WITH running AS MATERIALIZED (
    SELECT * FROM dueline.runs WHERE worker IS NOT NULL
)
SELECT
    -- part: live_run
FROM running
WHERE
    tenant = $1 AND id >= $2 AND id < $3
    AND state = $4
    -- part: run_matching
    -- part: searched (longest = $9; begun = $10)
ORDER BY id DESC
LIMIT $7;

-- name: edge
-- The last of so many runs below an id: as far as a page looks, however few of them fit. The higher one of live and of finished ones, if both
-- are asked for: down to it all were looked at. Null where there are fewer of both.
SELECT greatest(
    CASE WHEN $4::boolean THEN (
        SELECT id FROM dueline.runs WHERE id >= $1 AND id < $2 ORDER BY id DESC OFFSET $3::bigint - 1 LIMIT 1
    ) END,
    CASE WHEN $5::boolean THEN (
        SELECT id FROM dueline.history WHERE id >= $1 AND id < $2 ORDER BY id DESC OFFSET $3::bigint - 1 LIMIT 1
    ) END
);

-- name: edge_of_job
-- The same among the runs of a job.
SELECT greatest(
    (SELECT id FROM dueline.runs WHERE job_id = $4 AND id >= $1 AND id < $2 ORDER BY id DESC OFFSET $3::bigint - 1 LIMIT 1),
    (SELECT id FROM dueline.history WHERE job_id = $4 AND id >= $1 AND id < $2 ORDER BY id DESC OFFSET $3::bigint - 1 LIMIT 1)
);

-- name: edge_unsuccessful
-- The same among the runs of a tenant that ended in a state, without success.
SELECT id
FROM dueline.history
WHERE tenant = $4 AND state = $5 AND state <> 'succeeded' AND id >= $1 AND id < $2
ORDER BY id DESC
OFFSET $3::bigint - 1
LIMIT 1;

-- name: standing
-- A live run that waits, and the run of its job that is in its way.
SELECT
    r.queue, r.lane, r.rank, r.waits_for,
    (SELECT p.run_id FROM dueline.places AS p WHERE p.job_id = r.job_id AND p.run_id <> r.id AND r.exclusive) AS other,
    dueline.now_ms() AS now_ms
FROM dueline.runs AS r
WHERE r.id = $2 AND r.tenant = $1;

-- name: before
-- Whose ready runs come before one in its line, as far as they are counted.
SELECT b.tenant, count(*)
FROM (
    SELECT tenant
    FROM dueline.runs
    WHERE state = 'ready' AND queue = $1 AND lane = $2 AND (rank, id) < ($3, $4)
    ORDER BY rank, id
    LIMIT $5
) AS b
GROUP BY b.tenant
ORDER BY count(*) DESC, b.tenant;

-- name: gate
-- The gate where a run waits, as it stands.
SELECT
    g.name, g.scope, g.most, g.interval_us, g.burst, g.full_us,
    (SELECT count(*) FROM dueline.gate_places AS p WHERE p.gate = g.gate) AS taken,
    (
        SELECT count(*)
        FROM (
            SELECT FROM dueline.runs AS h WHERE h.waits_for = g.gate AND h.state = 'held' AND (h.rank, h.id) < ($2, $3) LIMIT $4
        ) AS b
    ) AS before
FROM dueline.gates AS g
WHERE g.gate = $1;

-- name: under_way
-- Some of those that have the places of a gate.
SELECT p.run_id FROM (SELECT run_id FROM dueline.gate_places WHERE gate = $1 OFFSET 0) AS p ORDER BY p.run_id LIMIT $2;

-- name: waiting_in
-- Whose runs are ready in a queue. It looks at all of them: it is for people, and not for a loop.
SELECT w.tenant, w.ready, w.oldest_ms, coalesce(t.weight, 1.0)
FROM (
    SELECT tenant, count(*) AS ready, min(due_ms) AS oldest_ms FROM dueline.runs WHERE queue = $1 AND state = 'ready' GROUP BY tenant
) AS w
LEFT JOIN dueline.tenants AS t ON t.tenant = w.tenant
ORDER BY w.ready DESC, w.tenant
LIMIT $2;
