-- name: clock
SELECT now_ms();

-- name: run
-- A run, live or finished.
SELECT
    -- part: live_run
FROM runs WHERE id = ?2 AND tenant = ?1
UNION ALL
SELECT
    -- part: ended_run
FROM history WHERE id = ?2 AND tenant = ?1;

-- name: runs_page
-- Runs below an id, latest scheduled first: live and finished ones merged.
SELECT * FROM (
    SELECT
        -- part: live_run
    FROM runs
    WHERE
        tenant = ?1 AND id >= ?2 AND id < ?3
        AND (?4 IS NULL OR state = ?4)
        -- part: run_matching
        -- part: searched
    ORDER BY id DESC
    LIMIT ?7
)
UNION ALL
SELECT * FROM (
    SELECT
        -- part: ended_run
    FROM history
    WHERE
        tenant = ?1 AND id >= ?2 AND id < ?3
        AND (?4 IS NULL OR state = ?4)
        -- part: run_matching
        -- part: searched
    ORDER BY id DESC
    LIMIT ?7
)
ORDER BY id DESC
LIMIT ?7;

-- name: runs_page_of_job
-- The same for one job, by the indexes of its runs.
SELECT * FROM (
    SELECT
        -- part: live_run
    FROM runs INDEXED BY runs_job
    WHERE
        tenant = ?1 AND id >= ?2 AND id < ?3 AND job_id = ?9
        AND (?4 IS NULL OR state = ?4)
        -- part: run_matching
        -- part: searched
    ORDER BY id DESC
    LIMIT ?7
)
UNION ALL
SELECT * FROM (
    SELECT
        -- part: ended_run
    FROM history INDEXED BY history_job
    WHERE
        tenant = ?1 AND id >= ?2 AND id < ?3 AND job_id = ?9
        AND (?4 IS NULL OR state = ?4)
        -- part: run_matching
        -- part: searched
    ORDER BY id DESC
    LIMIT ?7
)
ORDER BY id DESC
LIMIT ?7;

-- name: runs_page_unsuccessful
-- The same for a state in which runs end without success, which few of very many do: finished ones only, by the index of those.
SELECT
    -- part: ended_run
FROM history INDEXED BY history_unsuccessful
WHERE
    tenant = ?1 AND id >= ?2 AND id < ?3
    AND state = ?4 AND state <> 'succeeded'
    -- part: run_matching
    -- part: searched
ORDER BY id DESC
LIMIT ?7;

-- name: runs_page_succeeded
-- The same for the state in which most runs end: finished ones only.
SELECT
    -- part: ended_run
FROM history
WHERE
    tenant = ?1 AND id >= ?2 AND id < ?3
    AND state = ?4
    -- part: run_matching
    -- part: searched
ORDER BY id DESC
LIMIT ?7;


-- name: runs_page_waiting
-- The same for a state in which runs wait: none of the finished ones, of which there are many more, is in it.
SELECT
    -- part: live_run
FROM runs
WHERE
    tenant = ?1 AND id >= ?2 AND id < ?3
    AND state = ?4
    -- part: run_matching
    -- part: searched
ORDER BY id DESC
LIMIT ?7;

-- name: runs_page_running
-- The same for those that a worker has, by the index of these: many more may wait.
SELECT
    -- part: live_run
FROM runs INDEXED BY runs_running
WHERE
    tenant = ?1 AND id >= ?2 AND id < ?3
    AND worker IS NOT NULL AND state = ?4
    -- part: run_matching
    -- part: searched
ORDER BY id DESC
LIMIT ?7;

-- name: edge
-- The last of so many runs below an id: as far as a page looks, however few of them fit. The higher one of live and of finished ones, if both
-- are asked for: down to it all were looked at. Null where there are fewer of both.
SELECT nullif(max(
    coalesce(CASE WHEN ?4 THEN (SELECT id FROM runs WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3 - 1) END, x''),
    coalesce(CASE WHEN ?5 THEN (SELECT id FROM history WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3 - 1) END, x'')
), x'');

-- name: edge_of_job
-- The same among the runs of a job.
SELECT nullif(max(
    coalesce((SELECT id FROM runs WHERE job_id = ?4 AND id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3 - 1), x''),
    coalesce((SELECT id FROM history WHERE job_id = ?4 AND id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3 - 1), x'')
), x'');

-- name: edge_unsuccessful
-- The same among the runs of a tenant that ended in a state, without success.
SELECT id
FROM history INDEXED BY history_unsuccessful
WHERE tenant = ?4 AND state = ?5 AND state <> 'succeeded' AND id >= ?1 AND id < ?2
ORDER BY id DESC
LIMIT 1 OFFSET ?3 - 1;

-- name: standing
-- A live run that waits, and the run of its job that is in its way.
SELECT
    r.queue, r.lane, r.rank, r.waits_for,
    (SELECT p.run_id FROM places AS p WHERE p.job_id = r.job_id AND p.run_id <> r.id AND r.exclusive) AS other,
    now_ms() AS now_ms
FROM runs AS r
WHERE r.id = ?2 AND r.tenant = ?1;

-- name: before
-- Whose ready runs come before one in its line, as far as they are counted.
SELECT b.tenant, count(*)
FROM (
    SELECT tenant
    FROM runs
    WHERE state = 'ready' AND queue = ?1 AND lane = ?2 AND (rank, id) < (?3, ?4)
    ORDER BY rank, id
    LIMIT ?5
) AS b
GROUP BY b.tenant
ORDER BY count(*) DESC, b.tenant;

-- name: gate
-- The gate where a run waits, as it stands.
SELECT
    g.name, g.scope, g.most, g.interval_us, g.burst, g.full_us,
    (SELECT count(*) FROM gate_places AS p WHERE p.gate = g.gate) AS taken,
    (
        SELECT count(*)
        FROM (
            SELECT 1 FROM runs AS h WHERE h.waits_for = g.gate AND h.state = 'held' AND (h.rank, h.id) < (?2, ?3) LIMIT ?4
        ) AS b
    ) AS before
FROM gates AS g
WHERE g.gate = ?1;

-- name: under_way
-- Some of those that have the places of a gate.
SELECT run_id FROM gate_places WHERE gate = ?1 ORDER BY run_id LIMIT ?2;

-- name: waiting_in
-- Whose runs are ready in a queue. It looks at all of them: it is for people, and not for a loop.
SELECT w.tenant, w.ready, w.oldest_ms, coalesce(t.weight, 1.0)
FROM (
    SELECT tenant, count(*) AS ready, min(due_ms) AS oldest_ms FROM runs WHERE queue = ?1 AND state = 'ready' GROUP BY tenant
) AS w
LEFT JOIN tenants AS t ON t.tenant = w.tenant
ORDER BY w.ready DESC, w.tenant
LIMIT ?2;
