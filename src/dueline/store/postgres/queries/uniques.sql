-- name: lock
-- First lock of unique runs: keys in their order, so that two batches never wait for each other. One that nobody has is taken here; of the
-- others, which nobody else can take or forget from here on, the run that has them is told.
INSERT INTO dueline.uniques AS u (tenant, key, run_id, taken_ms, until_ms, sweep_ms)
SELECT
    a.tenant, a.key, a.run_id, dueline.now_ms(), dueline.now_ms() + a.window_ms,
    greatest(dueline.now_ms() + a.window_ms, dueline.now_ms() + $6, a.due_ms + $6)
FROM unnest($1::text[], $2::text[], $3::uuid[], $4::bigint[], $5::bigint[]) AS a (tenant, key, run_id, window_ms, due_ms)
ORDER BY a.tenant COLLATE "C", a.key COLLATE "C"
ON CONFLICT (tenant, key) DO UPDATE SET run_id = u.run_id
RETURNING u.tenant, u.key, u.run_id, dueline.now_ms() AS now_ms;

-- name: lock_runs
-- Second lock, where runs are to be replaced or to get other due times: whoever wants to start one waits, or leaves it alone.
SELECT FROM dueline.runs WHERE id = ANY($1::uuid[]) ORDER BY id FOR UPDATE;

-- name: found
-- Then the runs that have the keys, live or over, and the time: by a statement that begins when the locks are there.
SELECT
    u.tenant, u.key, u.run_id, u.taken_ms, u.until_ms, coalesce(r.state, h.state) AS state, coalesce(r.attempts <> '', true) AS tried,
    coalesce(r.due_ms, h.due_ms) AS due_ms, dueline.now_ms() AS now_ms
FROM unnest($1::text[], $2::text[]) AS a (tenant, key)
CROSS JOIN LATERAL (SELECT * FROM dueline.uniques WHERE tenant = a.tenant AND key = a.key OFFSET 0) AS u
LEFT JOIN LATERAL (SELECT state, attempts, due_ms FROM dueline.runs WHERE id = u.run_id OFFSET 0) AS r ON true
LEFT JOIN LATERAL (SELECT state, due_ms FROM dueline.history WHERE id = u.run_id OFFSET 0) AS h ON true;

-- name: take
-- Keys that are locked pass to other runs. They are there; written like this, each is found by itself however early it was planned.
INSERT INTO dueline.uniques (tenant, key, run_id, taken_ms, until_ms, sweep_ms)
SELECT
    a.tenant, a.key, a.run_id, dueline.now_ms(), dueline.now_ms() + a.window_ms,
    greatest(dueline.now_ms() + a.window_ms, dueline.now_ms() + $6, a.due_ms + $6)
FROM unnest($1::text[], $2::text[], $3::uuid[], $4::bigint[], $5::bigint[]) AS a (tenant, key, run_id, window_ms, due_ms)
ON CONFLICT (tenant, key) DO UPDATE
SET run_id = excluded.run_id, taken_ms = excluded.taken_ms, until_ms = excluded.until_ms, sweep_ms = excluded.sweep_ms;

-- name: reschedule
-- move: reschedule
-- Unstarted runs, which are locked, wait for other due times, those claimed ahead of their time included. What they waited for meanwhile is
-- asked again then; one whose job is paused stays held. Until when they may start moves along. `leave_places` follows.
UPDATE dueline.runs AS r
SET
    state = CASE r.reason WHEN 'paused' THEN 'held' ELSE 'scheduled' END, reason = CASE r.reason WHEN 'paused' THEN 'paused' END,
    waits_for = NULL, due_ms = d.due_ms, expires_ms = r.expires_ms + d.due_ms - r.due_ms, token = r.token + 1, worker = NULL,
    claimed_ms = NULL, attempt = 0
FROM ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS d (id, due_ms)
WHERE r.id = d.id AND r.state IN ('scheduled', 'ready', 'held', 'running') AND r.id = ANY($1::uuid[])
RETURNING r.id, r.job_id;

-- name: forget
-- Keys that are free go, past whatever is locked. Those of live runs are looked at again when the run is twice as old: each is looked at a
-- few times only. Of a key that was taken a moment ago the run may not be seen yet; but such a key is not to be looked at for a while, which is
-- compared anew when it is locked.
WITH looked AS MATERIALIZED (
    SELECT ctid AS place
    FROM dueline.uniques
    WHERE sweep_ms <= dueline.now_ms()
    ORDER BY sweep_ms
    LIMIT $1
    FOR UPDATE SKIP LOCKED
), put_off AS (
    UPDATE dueline.uniques AS u
    SET
        sweep_ms = greatest(
            2 * dueline.now_ms() - u.taken_ms, dueline.now_ms() + $2, (SELECT r.due_ms + $2 FROM dueline.runs AS r WHERE r.id = u.run_id)
        )
    WHERE u.ctid = ANY(ARRAY(SELECT place FROM looked)) AND (SELECT true FROM dueline.runs AS r WHERE r.id = u.run_id)
), gone AS (
    DELETE FROM dueline.uniques AS u
    WHERE u.ctid = ANY(ARRAY(SELECT place FROM looked)) AND (SELECT true FROM dueline.runs AS r WHERE r.id = u.run_id) IS NOT TRUE
)
SELECT count(*) FROM looked;
