-- name: create
-- Write jobs and their plans; a name that is taken leaves its job out, and so does an id: the same job, asked for again.
WITH asked AS (
    SELECT * FROM unnest(
        $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::smallint[], $10::bigint[],
        $11::bigint[], $12::uuid[], $13::integer[], $14::bigint[], $15::boolean[], $16::boolean[], $17::boolean[]
    ) AS a (
        id, tenant, name, queue, region, target_type, tags, definition, shard, next_ms, due_ms, awaiting, runs_left, delay_ms, zoned, stale,
        paused
    )
), created AS (
    INSERT INTO dueline.jobs (
        id, tenant, name, state, version, generation, queue, region, target_type, tags, definition, created_ms, updated_ms, since_ms
    )
    SELECT
        id, tenant, name, CASE WHEN paused THEN 'paused' ELSE 'active' END, 1, 1, queue, region, target_type,
        string_to_array(tags, E'\x1f'), definition,
        dueline.now_ms(), dueline.now_ms(), dueline.now_ms()
    FROM asked
    ON CONFLICT DO NOTHING
    RETURNING id, created_ms
), planned AS (
    INSERT INTO dueline.plans (job_id, shard, version, generation, next_ms, due_ms, awaiting, runs_left, delay_ms, zoned, stale)
    SELECT id, shard, 1, 1, next_ms, due_ms, awaiting, runs_left, delay_ms, zoned, stale
    FROM asked
    JOIN created USING (id)
    WHERE next_ms IS NOT NULL OR awaiting IS NOT NULL
), announced AS (
    INSERT INTO dueline.changes (at_ms, told, ids) SELECT dueline.now_ms(), 'created', array_agg(id) FROM created HAVING count(*) > 0
)
SELECT id, created_ms FROM created;

-- name: get
-- A living job with its plan. A CASE, so that no index but that of ids will do: by another one all jobs of the tenant would be looked through.
SELECT
    -- part: job
FROM dueline.jobs AS j
LEFT JOIN dueline.plans AS p ON p.job_id = j.id
WHERE j.id = $2 AND CASE WHEN j.deleted_ms IS NULL THEN j.tenant = $1 ELSE false END;

-- name: hold_open
-- The state of a living job of which runs are about to be written. A change of it waits for them, and they for one that is under way: what it
-- leaves is seen. That the schedule ends meanwhile is in nobody's way. Said in this way, whether it lives is no question for an index.
SELECT state FROM dueline.jobs WHERE id = $1 AND (deleted_ms IS NULL) IS TRUE FOR KEY SHARE;

-- name: page
-- Living jobs below an id, newest first. `jobs.py` has their ids read by the index of a filter where there is one. The ids come first and alone,
-- because that index has them without a look at the jobs, and no other does. All filters are asked of each. A generic plan cannot know that most
-- of them are absent; written with OR it would expect next to nothing to match, and read and sort all jobs of the tenant.
SELECT
    -- part: job
FROM (
    SELECT id FROM dueline.jobs WHERE tenant = $1 AND id < $2 AND deleted_ms IS NULL ORDER BY id DESC OFFSET 0
) AS f
CROSS JOIN LATERAL (
    SELECT * FROM dueline.jobs AS o
    WHERE
        o.id = f.id
        -- part: job_matching
    OFFSET 0
) AS j
-- part: job_plan
ORDER BY f.id DESC
LIMIT $7;

-- name: search
-- The same down to an id, of those that have some words: where many have them, the page is full before it has looked at many.
SELECT
    -- part: job
FROM (
    SELECT id FROM dueline.jobs WHERE tenant = $1 AND id < $2 AND deleted_ms IS NULL AND id >= $9 ORDER BY id DESC OFFSET 0
) AS f
CROSS JOIN LATERAL (SELECT FROM dueline.job_words AS o WHERE o.id = f.id AND (o.words @@ $8::tsquery) IS TRUE OFFSET 0) AS w
CROSS JOIN LATERAL (
    SELECT * FROM dueline.jobs AS o
    WHERE
        o.id = f.id
        -- part: job_matching
    OFFSET 0
) AS j
-- part: job_plan
ORDER BY f.id DESC
LIMIT $7;

-- name: edge
-- The last of so many living jobs below an id: as far as a search looks before it asks the index of words. They are counted by the index of
-- a filter where there is one.
SELECT id FROM dueline.jobs WHERE tenant = $1 AND id < $2 AND deleted_ms IS NULL ORDER BY id DESC OFFSET $3::bigint - 1 LIMIT 1;

-- name: search_blocks
-- The same by the index of words, block by block, of as many as it has found in time; those are looked up, because it does not know every
-- filter. With each goes the newest job of the tenant that is left to be looked at, and without any that alone.
SELECT
    j.id, j.tenant, j.state, j.version, j.definition, p.next_ms, p.due_ms, p.awaiting, p.runs_left, j.pause_note, j.created_ms,
    j.updated_ms, j.since_ms, (
        SELECT o.id FROM dueline.jobs AS o WHERE o.tenant = $1 AND o.id <= f.rest AND o.deleted_ms IS NULL ORDER BY o.id DESC LIMIT 1
    ) AS rest
FROM dueline.found($6::text, $2, $7::integer, $8::integer) AS f
LEFT JOIN LATERAL (
    SELECT o.*
    FROM (SELECT u.id FROM unnest(f.ids) AS u (id) ORDER BY u.id DESC OFFSET 0) AS i
    CROSS JOIN LATERAL (
        SELECT * FROM dueline.jobs AS o
        WHERE
            o.id = i.id AND CASE WHEN o.tenant = $1 THEN o.deleted_ms IS NULL ELSE false END
            AND CASE WHEN $3::text IS NULL THEN true ELSE o.state = $3 END
            AND CASE WHEN $4::text IS NULL THEN true ELSE o.tags @> ARRAY[$4] END
        OFFSET 0
    ) AS o
    ORDER BY i.id DESC
    LIMIT $5
) AS j ON true
-- part: job_plan
ORDER BY j.id DESC;

-- name: page_of_names
-- The same from a name on and before another, in the order of names: by their index, whether few of them or very many are there.
SELECT
    -- part: job
FROM (
    SELECT id, name FROM dueline.jobs
    WHERE tenant = $1 AND name COLLATE "C" >= $2 AND name COLLATE "C" < $8 AND deleted_ms IS NULL
    ORDER BY name COLLATE "C"
    OFFSET 0
) AS f
CROSS JOIN LATERAL (
    SELECT * FROM dueline.jobs AS o
    WHERE
        o.id = f.id
        -- part: job_matching
    OFFSET 0
) AS j
-- part: job_plan
ORDER BY f.name COLLATE "C"
LIMIT $7;

-- name: page_of_few_names
-- The same of some jobs, by their ids: few that a filter lets through, where it lets through few.
SELECT
    -- part: job
FROM unnest($9::uuid[]) AS f (id)
CROSS JOIN LATERAL (
    SELECT * FROM dueline.jobs AS o
    WHERE
        o.id = f.id
        AND CASE WHEN o.tenant = $1 AND o.deleted_ms IS NULL THEN o.name COLLATE "C" >= $2 AND o.name COLLATE "C" < $8 ELSE false END
        -- part: job_matching
    OFFSET 0
) AS j
-- part: job_plan
ORDER BY j.name COLLATE "C"
LIMIT $7;

-- name: few
-- Ids of the living jobs that each filter lets through, as many as there are or so many; null where it is absent.
SELECT
    CASE WHEN $2::text IS NOT NULL THEN ARRAY(
        SELECT id FROM dueline.jobs WHERE tenant = $1 AND state = $2 AND deleted_ms IS NULL ORDER BY id DESC LIMIT $6
    ) END AS state,
    CASE WHEN $3::text IS NOT NULL THEN ARRAY(
        SELECT id FROM dueline.jobs WHERE tenant = $1 AND queue = $3 AND deleted_ms IS NULL ORDER BY id DESC LIMIT $6
    ) END AS queue,
    CASE WHEN $4::text IS NOT NULL THEN ARRAY(
        SELECT id FROM dueline.job_tags WHERE tenant = $1 AND tag = $4 ORDER BY id DESC LIMIT $6
    ) END AS tag,
    CASE WHEN $5::text IS NOT NULL THEN ARRAY(
        SELECT id FROM dueline.jobs WHERE tenant = $1 AND target_type = $5 AND deleted_ms IS NULL ORDER BY id DESC LIMIT $6
    ) END AS target_type;

-- name: versions
-- Versions of jobs, current or replaced, deleted jobs included.
WITH wanted AS (
    SELECT * FROM unnest($1::uuid[], $2::integer[]) AS w (job_id, version)
)
SELECT j.id AS job_id, j.version, j.tenant, j.definition
FROM wanted AS w
CROSS JOIN LATERAL (SELECT * FROM dueline.jobs WHERE id = w.job_id AND version = w.version OFFSET 0) AS j
UNION ALL
SELECT v.job_id, v.version, j.tenant, v.definition
FROM wanted AS w
CROSS JOIN LATERAL (SELECT * FROM dueline.job_versions WHERE job_id = w.job_id AND version = w.version OFFSET 0) AS v
CROSS JOIN LATERAL (SELECT tenant FROM dueline.jobs WHERE id = v.job_id OFFSET 0) AS j;

-- name: versions_of
-- All versions of a job, oldest first.
SELECT version, since_ms, definition FROM dueline.job_versions WHERE job_id = $1
UNION ALL
SELECT version, since_ms, definition FROM dueline.jobs WHERE id = $1
ORDER BY version;

-- name: versions_page
-- Some of them below a number, newest first: by their key, however many there are.
(SELECT version, since_ms, definition FROM dueline.jobs WHERE id = $1 AND version < $2)
UNION ALL
(SELECT version, since_ms, definition FROM dueline.job_versions WHERE job_id = $1 AND version < $2 ORDER BY version DESC LIMIT $3)
ORDER BY version DESC
LIMIT $3;

-- name: lock_plan
-- First lock of a change: firing takes the plan before the job as well.
SELECT next_ms, due_ms, awaiting, runs_left FROM dueline.plans WHERE job_id = $1 FOR UPDATE;

-- name: lock
-- Second lock of a change: the job itself.
SELECT id, tenant, state, version, definition, pause_note, created_ms, updated_ms, since_ms
FROM dueline.jobs
WHERE id = $2 AND CASE WHEN deleted_ms IS NULL THEN tenant = $1 ELSE false END
FOR UPDATE;

-- name: lock_runs
-- Third lock of a change: every run of the job that may not have started. Whoever asks to confirm a claim waits for the change.
SELECT id, kind, state, scheduled_ms, due_ms, begun_ms IS NOT NULL AS begun, reason
FROM dueline.runs
WHERE job_id = $1 AND (state <> 'running' OR due_ms > dueline.now_ms())
ORDER BY id
FOR UPDATE;

-- name: clock
-- The moment of a change, read when everything is locked.
SELECT dueline.now_ms();

-- name: keep_version
-- Keep the version that is about to be replaced.
INSERT INTO dueline.job_versions (job_id, version, definition, since_ms)
SELECT id, version, definition, since_ms FROM dueline.jobs WHERE id = $1;

-- name: change
-- Write a changed job.
UPDATE dueline.jobs
SET
    name = $2, state = $3, version = $4, queue = $5, region = $6, target_type = $7, tags = string_to_array($8, E'\x1f'),
    definition = $9, pause_note = $10, updated_ms = $11::bigint, since_ms = $12,
    deleted_ms = CASE WHEN $13::boolean THEN $11::bigint END, generation = generation + 1
WHERE id = $1
RETURNING generation;

-- name: replan
-- Put a plan where the change says.
INSERT INTO dueline.plans (job_id, shard, version, generation, next_ms, due_ms, awaiting, runs_left, delay_ms, zoned, stale)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (job_id) DO UPDATE
SET
    version = excluded.version, generation = excluded.generation, next_ms = excluded.next_ms, due_ms = excluded.due_ms,
    awaiting = excluded.awaiting, runs_left = excluded.runs_left, delay_ms = excluded.delay_ms, zoned = excluded.zoned,
    stale = excluded.stale;

-- name: unplan
-- Take a plan away: nothing of the schedule is left to decide.
DELETE FROM dueline.plans WHERE job_id = $1;

-- name: unplan_runs
-- move: unplan
-- Runs whose time had not come vanish; whoever held one finds that out before starting it.
WITH gone AS (
    DELETE FROM dueline.runs
    WHERE id = ANY($1::uuid[]) AND state IN ('scheduled', 'ready', 'held', 'running')
    RETURNING id, job_id
)
DELETE FROM dueline.places WHERE job_id = ANY(ARRAY(SELECT job_id FROM gone)) AND run_id = ANY(ARRAY(SELECT id FROM gone));

-- name: hold_runs
-- move: hold
-- Unstarted runs, those claimed ahead of their time included; they were locked since.
UPDATE dueline.runs
SET
    state = 'held', reason = $2, waits_for = NULL, token = token + 1, worker = NULL, claimed_ms = NULL,
    attempt = attempt - CASE state WHEN 'running' THEN 1 ELSE 0 END
WHERE id = ANY($1::uuid[]) AND state IN ('ready', 'retrying', 'scheduled', 'held', 'running');

-- name: held_runs
-- Runs to free, those due first first; they were locked since. `free_runs` follows.
SELECT id, queue, lane, tenant, priority, fairness_key
FROM dueline.runs
WHERE id = ANY($1::uuid[]) AND state = 'held'
ORDER BY due_ms, id;

-- name: free_runs
-- move: free
-- Each with its rank: while its job was paused its line went on.
UPDATE dueline.runs AS r SET state = 'ready', reason = NULL, token = r.token + 1, rank = f.rank
FROM ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS f (id, rank)
WHERE r.id = f.id AND r.state = 'held' AND r.id = ANY($1::uuid[]);

-- name: cancel_runs
-- move: cancel
WITH ended AS (
    DELETE FROM dueline.runs AS r
    USING ROWS FROM (unnest($1::uuid[], $2::text[]), generate_subscripts($1::uuid[], 1)) AS c (id, reason)
    WHERE r.id = c.id AND r.state IN ('scheduled', 'ready', 'held', 'retrying', 'running') AND r.id = ANY($1::uuid[])
    RETURNING r.*, c.reason AS why, r.attempt - CASE r.state WHEN 'running' THEN 1 ELSE 0 END AS attempts_made
), left_places AS (
    DELETE FROM dueline.places WHERE job_id = ANY(ARRAY(SELECT job_id FROM ended)) AND run_id = ANY(ARRAY(SELECT id FROM ended))
),
-- part: idle (state = 'cancelled'; attempt = attempts_made; reason = why)
SELECT id FROM kept;

-- name: finished
-- Living jobs that finished at least so long ago, behind one of them, those first that did so first. They have no plans.
SELECT
    id, tenant, state, version, definition, NULL::bigint AS next_ms, NULL::bigint AS due_ms, NULL::uuid AS awaiting, NULL::bigint AS runs_left,
    pause_note, created_ms, updated_ms, since_ms
FROM dueline.jobs
WHERE
    state = 'finished' AND deleted_ms IS NULL AND (updated_ms, id) > ($1::bigint, $2::uuid) AND updated_ms <= dueline.now_ms() - $3::bigint
ORDER BY updated_ms, id
LIMIT $4;

-- name: stop_runs
-- Runs of the job that are being executed are asked to end, locked in the order in which others lock them; one that was asked before keeps its
-- reason.
WITH locked AS (
    SELECT id FROM dueline.runs WHERE job_id = $1 AND state = 'running' AND cancel IS NULL ORDER BY id FOR UPDATE
)
UPDATE dueline.runs SET cancel = $2
WHERE id = ANY(ARRAY(SELECT id FROM locked))
RETURNING id;
