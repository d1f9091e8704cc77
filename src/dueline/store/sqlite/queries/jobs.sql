-- name: create
-- Write jobs; a name that is taken leaves its job out, and so does an id that was written before. Their plans follow by `replan`.
INSERT INTO jobs (
    id, tenant, name, state, version, generation, queue, region, target_type, tags, definition, created_ms, updated_ms,
    since_ms
)
SELECT
    unhex(value ->> 0), value ->> 1, value ->> 2, CASE WHEN value ->> 8 THEN 'paused' ELSE 'active' END, 1, 1, value ->> 3, value ->> 4,
    value ->> 5, value ->> 6, value ->> 7, now_ms(), now_ms(), now_ms()
FROM jsonb_each(?1)
WHERE true
ON CONFLICT DO NOTHING
RETURNING id, created_ms;

-- name: get
-- A living job with its plan.
SELECT
    -- part: job
FROM jobs AS j
LEFT JOIN plans AS p ON p.job_id = j.id
WHERE j.tenant = ?1 AND j.id = ?2 AND j.deleted_ms IS NULL;

-- name: hold_open
-- The state of a living job of which runs are about to be written.
SELECT state FROM jobs WHERE id = ?1 AND deleted_ms IS NULL;

-- name: page
-- Living jobs below an id, newest first.
SELECT
    -- part: job
FROM jobs AS j INDEXED BY jobs_page
LEFT JOIN plans AS p ON p.job_id = j.id
WHERE
    j.tenant = ?1 AND j.id < ?2 AND j.deleted_ms IS NULL
    -- part: job_matching
ORDER BY j.id DESC
LIMIT ?7;

-- name: search
-- The same, of those that have some words: the letters of the longest first, then all of them at the beginnings of words. They are looked
-- through in their order, in a table that has nothing else.
SELECT
    -- part: job
FROM job_words AS w
CROSS JOIN jobs AS j ON j.id = w.id
LEFT JOIN plans AS p ON p.job_id = j.id
WHERE
    w.tenant = ?1 AND w.id < ?2 AND instr(w.words, ?8)
    AND NOT EXISTS (SELECT 1 FROM json_each(?9) AS b WHERE w.words NOT GLOB b.value)
    -- part: job_matching
ORDER BY w.id DESC
LIMIT ?7;

-- name: page_of_names
-- The same from a name on and before another, in the order of names.
SELECT
    -- part: job
FROM jobs AS j INDEXED BY jobs_name
LEFT JOIN plans AS p ON p.job_id = j.id
WHERE
    j.tenant = ?1 AND j.name >= ?2 AND j.name < ?8 AND j.deleted_ms IS NULL
    -- part: job_matching
ORDER BY j.name
LIMIT ?7;

-- name: versions
-- Versions of jobs, current or replaced, deleted jobs included. CROSS JOIN keeps the order: from what is wanted to its row.
WITH wanted AS (
    SELECT unhex(value ->> 0) AS job_id, value ->> 1 AS version FROM jsonb_each(?1)
)
SELECT j.id AS job_id, j.version, j.tenant, j.definition
FROM wanted AS w CROSS JOIN jobs AS j ON j.id = w.job_id AND j.version = w.version
UNION ALL
SELECT v.job_id, v.version, j.tenant, v.definition
FROM wanted AS w
CROSS JOIN job_versions AS v ON v.job_id = w.job_id AND v.version = w.version
CROSS JOIN jobs AS j ON j.id = v.job_id;

-- name: versions_of
-- All versions of a job, oldest first.
SELECT version, since_ms, definition FROM job_versions WHERE job_id = ?1
UNION ALL
SELECT version, since_ms, definition FROM jobs WHERE id = ?1
ORDER BY version;

-- name: versions_page
-- Some of them below a number, newest first: by their key, however many there are.
SELECT * FROM (SELECT version, since_ms, definition FROM jobs WHERE id = ?1 AND version < ?2)
UNION ALL
SELECT * FROM (
    SELECT version, since_ms, definition FROM job_versions WHERE job_id = ?1 AND version < ?2 ORDER BY version DESC LIMIT ?3
)
ORDER BY version DESC
LIMIT ?3;

-- name: lock_runs
-- Every run of the job that may not have started. The writer is alone, so what it reads stays as it is until it commits.
SELECT id, kind, state, scheduled_ms, due_ms, begun_ms IS NOT NULL AS begun, reason
FROM runs
WHERE job_id = ?1 AND (state <> 'running' OR due_ms > now_ms())
ORDER BY id;

-- name: clock
-- The moment of a change.
SELECT now_ms();

-- name: keep_version
-- Keep the version that is about to be replaced.
INSERT INTO job_versions (job_id, version, definition, since_ms)
SELECT id, version, definition, since_ms FROM jobs WHERE id = ?1;

-- name: change
-- Write a changed job.
UPDATE jobs
SET
    name = ?2, state = ?3, version = ?4, queue = ?5, region = ?6, target_type = ?7, tags = ?8, definition = ?9, pause_note = ?10,
    updated_ms = ?11, since_ms = ?12, deleted_ms = CASE WHEN ?13 THEN ?11 END, generation = generation + 1
WHERE id = ?1
RETURNING generation;

-- name: replan
-- Put plans where a new or changed job says.
INSERT INTO plans (job_id, shard, version, generation, next_ms, due_ms, awaiting, runs_left, delay_ms, zoned, stale)
SELECT
    unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, unhex(value ->> 6), value ->> 7, value ->> 8,
    value ->> 9, value ->> 10
FROM jsonb_each(?1)
WHERE true
ON CONFLICT (job_id) DO UPDATE
SET
    version = excluded.version, generation = excluded.generation, next_ms = excluded.next_ms, due_ms = excluded.due_ms,
    awaiting = excluded.awaiting, runs_left = excluded.runs_left, delay_ms = excluded.delay_ms, zoned = excluded.zoned,
    stale = excluded.stale;

-- name: unplan
-- Take a plan away: nothing of the schedule is left to decide.
DELETE FROM plans WHERE job_id = ?1;

-- name: unplan_runs
-- move: unplan
-- Runs whose time had not come vanish; whoever held one finds that out before starting it.
DELETE FROM runs
WHERE id IN (SELECT unhex(value) FROM json_each(?1)) AND state IN ('scheduled', 'ready', 'held', 'running')
RETURNING id, job_id;

-- name: hold_runs
-- move: hold
-- Unstarted runs, those claimed ahead of their time included.
UPDATE runs
SET
    state = 'held', reason = ?2, waits_for = NULL, token = token + 1, worker = NULL, claimed_ms = NULL, attempt = attempt - (state = 'running')
WHERE id IN (SELECT unhex(value) FROM json_each(?1)) AND state IN ('ready', 'retrying', 'scheduled', 'held', 'running');

-- name: held_runs
-- Runs to free, those due first first; `free_runs` follows.
SELECT id, queue, lane, tenant, priority, fairness_key
FROM runs
WHERE id IN (SELECT unhex(value) FROM json_each(?1)) AND state = 'held'
ORDER BY due_ms, id;

-- name: free_runs
-- move: free
-- Each with its rank: while its job was paused its line went on.
UPDATE runs SET state = 'ready', reason = NULL, token = runs.token + 1, rank = f.rank
FROM (SELECT unhex(value ->> 0) AS run_id, value ->> 1 AS rank FROM jsonb_each(?1)) AS f
WHERE runs.id = f.run_id AND runs.state = 'held'
RETURNING queue;

-- name: cancel_runs
-- move: cancel
-- The record of runs that end; `runs.end` and `runs.vacate` follow.
-- part: idle (state = 'cancelled'; attempt = r.attempt - (r.state = 'running'); reason = c.value ->> 1)
FROM jsonb_each(?1) AS c
CROSS JOIN runs AS r ON r.id = unhex(c.value ->> 0)
WHERE r.state IN ('scheduled', 'ready', 'held', 'retrying', 'running')
ON CONFLICT (id) DO NOTHING
RETURNING id, job_id;

-- name: finished
-- Living jobs that finished at least so long ago, behind one of them, those first that did so first. They have no plans.
SELECT
    id, tenant, state, version, definition, NULL AS next_ms, NULL AS due_ms, NULL AS awaiting, NULL AS runs_left, pause_note, created_ms,
    updated_ms, since_ms
FROM jobs INDEXED BY jobs_finished
WHERE state = 'finished' AND deleted_ms IS NULL AND (updated_ms, id) > (?1, ?2) AND updated_ms <= now_ms() - ?3
ORDER BY updated_ms, id
LIMIT ?4;

-- name: stop_runs
-- Runs of the job that are being executed are asked to end; one that was asked before keeps its reason.
UPDATE runs INDEXED BY runs_job SET cancel = ?2
WHERE job_id = ?1 AND state = 'running' AND cancel IS NULL
RETURNING id;
