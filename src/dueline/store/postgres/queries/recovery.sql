-- name: missed
-- Unstarted runs of occurrences that were missed, those due first first. The conditions with numbers are those of the index; the ones
-- that follow decide.
SELECT id, tenant, job_id, scheduled_ms, due_ms
FROM dueline.runs
WHERE
    created_ms - scheduled_ms > 1000 AND attempt = 0 AND kind = 'scheduled' AND state IN ('scheduled', 'ready')
    AND created_ms - scheduled_ms > $2 AND begun_ms IS NULL
    AND CASE WHEN $1::text IS NULL THEN true ELSE tenant = $1 END
ORDER BY due_ms, id
LIMIT $3;

-- name: missed_of_job
-- The same for one job, by the index of its runs.
SELECT id, tenant, job_id, scheduled_ms, due_ms
FROM dueline.runs
WHERE
    job_id = $4 AND state IN ('scheduled', 'ready') AND kind = 'scheduled' AND begun_ms IS NULL AND created_ms - scheduled_ms > $2
    AND CASE WHEN $1::text IS NULL THEN true ELSE tenant = $1 END
ORDER BY due_ms, id
LIMIT $3;

-- name: lapsed
-- Runs that were written longer ahead of their time than runs that become ready at once, and still wait so long after it. What somebody put
-- off has a reason, and what was missed before it was written is caught up.
SELECT id, job_id, version, scheduled_ms
FROM dueline.runs
WHERE
    state = 'scheduled' AND due_ms < dueline.now_ms() - $1 AND kind = 'scheduled' AND begun_ms IS NULL AND reason IS NULL AND missed IS NULL
    AND created_ms + $2 < scheduled_ms
ORDER BY due_ms
LIMIT $3;

-- name: repace
-- move: repace
-- Unstarted runs wait for other due times, and get other ranks when these come near. Locked in the order of the ids, as everywhere.
WITH chosen AS MATERIALIZED (
    SELECT id
    FROM dueline.runs
    WHERE id = ANY($1::uuid[]) AND state IN ('scheduled', 'ready') AND begun_ms IS NULL
    ORDER BY id
    FOR NO KEY UPDATE
)
UPDATE dueline.runs AS r
SET state = 'scheduled', due_ms = d.due_ms, token = r.token + 1
FROM ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS d (id, due_ms)
WHERE r.id = d.id AND r.id = ANY(ARRAY(SELECT id FROM chosen))
RETURNING r.id;

-- name: overdue
-- Plans that should have been acted on before an instant, the longest overdue first: one index scan per shard, each for all of the page.
-- A plan that has a due time is of an active job. Its tenant is asked of the index of pages, which alone has
-- ids in their order: after a long outage the table is too large.
SELECT j.tenant, f.job_id, f.version, f.next_ms, f.due_ms, f.runs_left
FROM (
    SELECT p.*
    FROM dueline.shards AS s
    CROSS JOIN LATERAL (
        SELECT job_id, version, next_ms, due_ms, runs_left
        FROM dueline.plans
        WHERE
            shard = s.shard AND due_ms < $2
            AND CASE
                WHEN $1::text IS NULL THEN true
                ELSE job_id = (
                    SELECT o.id FROM dueline.jobs AS o WHERE o.tenant = $1 AND o.id >= job_id AND o.deleted_ms IS NULL ORDER BY o.id LIMIT 1
                )
            END
        ORDER BY due_ms
        LIMIT $3
    ) AS p
    ORDER BY p.due_ms
    LIMIT $3
) AS f
CROSS JOIN LATERAL (SELECT tenant FROM dueline.jobs WHERE id = f.job_id AND state = 'active' OFFSET 0) AS j
ORDER BY f.due_ms;

-- name: overdue_count
-- How many those are, shard by shard.
SELECT coalesce(sum(p.found), 0)::bigint
FROM dueline.shards AS s
CROSS JOIN LATERAL (
    SELECT count(*) AS found
    FROM dueline.plans
    WHERE
        shard = s.shard AND due_ms < $2
        AND CASE
            WHEN $1::text IS NULL THEN true
            ELSE job_id = (
                SELECT o.id FROM dueline.jobs AS o WHERE o.tenant = $1 AND o.id >= job_id AND o.deleted_ms IS NULL ORDER BY o.id LIMIT 1
            )
        END
) AS p;
