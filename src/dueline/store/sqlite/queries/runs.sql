-- name: enqueue
-- move: enqueue
-- Runs that somebody asked for. One that is not due soon waits outside the ready queue; one that exists, live or finished, is left out.
INSERT INTO runs (
    id, job_id, version, tenant, kind, state, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms, created_ms,
    token, attempt, lost, tags, parent_id, spec, attempts, overlap, lane, expires_ms
)
SELECT
    unhex(value ->> 0), unhex(value ->> 1), value ->> 2, value ->> 3, value ->> 4,
    CASE WHEN value ->> 12 > now_ms() + ?2 THEN 'scheduled' ELSE 'ready' END,
    value ->> 5, value ->> 6, value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, now_ms(),
    value ->> 16, 0, 0, value ->> 13, unhex(value ->> 14), value ->> 15, '', value ->> 17, value ->> 18, value ->> 19
FROM jsonb_each(?1)
WHERE NOT EXISTS (SELECT 1 FROM history AS h WHERE h.id = unhex(value ->> 0))
ON CONFLICT (id) DO NOTHING
RETURNING id, queue, state;

-- name: set_apart
-- What few of the runs have that were just written: to ask it of all would cost every run a third of a microsecond.
UPDATE runs SET fairness_key = a.fairness_key, missed = a.missed, notifies = a.notifies
FROM (
    SELECT unhex(value ->> 0) AS run_id, value ->> 1 AS fairness_key, value ->> 2 AS missed, value ->> 3 AS notifies
    FROM jsonb_each(?1)
) AS a
WHERE runs.id = a.run_id AND runs.created_ms = now_ms();

-- name: count_waiting
-- How many wait that are due until an instant, so many at most.
SELECT count(*) FROM (SELECT 1 FROM runs WHERE state IN ('scheduled', 'retrying') AND due_ms <= ?1 LIMIT ?2);

-- name: near
-- Waiting runs whose time is near, and whether workers may claim them by now; `promote` follows.
SELECT id, due_ms <= now_ms() + ?3 AS claimable, due_ms, queue, lane, tenant, priority, state, reason, missed, fairness_key
FROM runs
WHERE state IN ('scheduled', 'retrying') AND due_ms <= now_ms() + ?1
ORDER BY due_ms
LIMIT ?2;

-- name: promote
-- move: promote
-- Waiting runs get their ranks. Why one was put off does not matter any more.
UPDATE runs SET state = 'ready', reason = NULL, rank = p.rank
FROM (SELECT unhex(value ->> 0) AS run_id, value ->> 1 AS rank FROM jsonb_each(?1)) AS p
WHERE runs.id = p.run_id AND runs.state IN ('scheduled', 'retrying');

-- name: upcoming
-- When the next waiting run is due, and when the next token comes that somebody waits for.
SELECT
    (SELECT due_ms FROM runs WHERE state IN ('scheduled', 'retrying') ORDER BY due_ms LIMIT 1) AS due_ms,
    (SELECT min(refill_ms) FROM gates WHERE refill_ms IS NOT NULL) AS refill_ms;

-- name: pick
-- First step of a claim: ready runs of a lane in rank order, for a worker that is registered, unless the queue is paused. One that was
-- never begun and has expired is left to `cancels.expire`. All of them are one value, as `pack` has it: see there. A long spec is left
-- out of it, and asked for by `long_specs`.
SELECT json_group_array(json_array(
    hex(id), token + 1, hex(job_id), version, tenant, kind, scheduled_ms, due_ms, now_ms(), attempt + 1, lost, exclusive,
    CASE WHEN octet_length(spec) <= 4096 THEN spec END, begun_ms, expires_ms, overlap, octet_length(spec) > 4096
))
FROM (
    SELECT
        id, token, job_id, version, tenant, kind, scheduled_ms, due_ms, attempt, lost, exclusive, spec, begun_ms, expires_ms, overlap
    FROM runs
    WHERE
        queue = ?2 AND lane = ?3 AND state = 'ready' AND due_ms <= now_ms() + ?4
        AND (expires_ms IS NULL OR expires_ms > now_ms() OR begun_ms IS NOT NULL)
        AND EXISTS (SELECT 1 FROM nodes WHERE boot_id = ?1)
        AND NOT EXISTS (SELECT 1 FROM queue_pauses WHERE queue = ?2)
    ORDER BY rank, id
    LIMIT ?5
);

-- name: long_specs
SELECT id, spec FROM runs WHERE id IN carray(?1);

-- name: claim_place
-- Second step, where some of the picked runs are of exclusive jobs and due: the first of each such job takes its place, if that is free.
-- One that is not due yet asks for the place when it starts, and a retried one has it already.
INSERT INTO places (job_id, run_id)
SELECT job_id, id
FROM runs
WHERE id IN carray(?1)
ORDER BY rank, id
ON CONFLICT (job_id) DO NOTHING;

-- name: claim_blocked
-- Third step, of the same: those that found the place taken. They stay as they are.
SELECT
    p.id, p.token, p.job_id, p.version,
    (SELECT count(*) FROM runs AS h WHERE h.job_id = p.job_id AND h.state = 'held' AND h.waits_for IS NULL) AS held, p.overlap
FROM runs AS p
WHERE
    p.id IN carray(?1)
    AND NOT EXISTS (SELECT 1 FROM places AS o WHERE o.job_id = p.job_id AND o.run_id = p.id);

-- name: claim
-- move: claim
-- Last step of a claim: the picked runs that are not blocked.
UPDATE runs
SET state = 'running', token = token + 1, worker = ?1, claimed_ms = now_ms(), attempt = attempt + 1
WHERE id IN carray(?2) AND state = 'ready';

-- name: claims_of
-- What a worker holds.
SELECT id, token, job_id, version, tenant, kind, scheduled_ms, due_ms, claimed_ms, attempt, lost, exclusive, spec, begun_ms,
    expires_ms, overlap, EXISTS (SELECT 1 FROM gate_places AS p WHERE p.run_id = runs.id), queue
FROM runs
WHERE state = 'running' AND worker = ?1;

-- name: confirm
-- move: confirm
-- Claims that still hold. Asked between the writes, so it sees every change of a job that was made before. One whose time has not come by this
-- clock must not start: to whoever cancels it, it has not been begun.
SELECT r.id, r.token
FROM jsonb_each(?1) AS c
CROSS JOIN runs AS r ON r.id = unhex(c.value ->> 0) AND r.token = c.value ->> 1 AND r.state = 'running'
WHERE r.due_ms <= now_ms() + ?2;

-- name: confirm_place
-- move: confirm
-- The same for runs that must not overlap, first step: each takes its job's place, if that is free.
INSERT INTO places (job_id, run_id)
SELECT r.job_id, r.id
FROM jsonb_each(?1) AS c
CROSS JOIN runs AS r ON r.id = unhex(c.value ->> 0) AND r.token = c.value ->> 1 AND r.state = 'running'
WHERE r.due_ms <= now_ms() + ?2
ORDER BY r.rank, r.id
ON CONFLICT (job_id) DO NOTHING;

-- name: confirm_exclusive
-- move: confirm
-- Second step: to start, each needs its job's place. The answer says which have it.
SELECT
    r.id, r.token, r.job_id, r.version,
    (SELECT count(*) FROM runs AS h WHERE h.job_id = r.job_id AND h.state = 'held' AND h.waits_for IS NULL) AS held, r.overlap,
    EXISTS (SELECT 1 FROM places AS o WHERE o.job_id = r.job_id AND o.run_id = r.id) AS placed
FROM jsonb_each(?1) AS c
CROSS JOIN runs AS r ON r.id = unhex(c.value ->> 0) AND r.token = c.value ->> 1 AND r.state = 'running'
WHERE r.due_ms <= now_ms() + ?2;

-- name: release
-- move: release
-- Unstarted runs go back as if they had never been claimed, but for the token, which only grows. `vacate` follows for those that were
-- never begun, not even by an attempt that does not count.
UPDATE runs
SET state = 'ready', token = runs.token + 1, worker = NULL, claimed_ms = NULL, attempt = runs.attempt - 1
FROM (SELECT unhex(value ->> 0) AS run_id, value ->> 1 AS token FROM jsonb_each(?1)) AS c
WHERE runs.id = c.run_id AND runs.token = c.token AND runs.state = 'running'
RETURNING id, job_id, begun_ms, queue;

-- name: finish
-- move: finish
-- The record of runs that end, for those whose token matches; `end` takes them from the hot table.
-- part: record
SELECT
    r.id, r.job_id, r.version, r.tenant, r.kind, f.value ->> 2, r.queue, r.priority, r.region, r.scheduled_ms, r.due_ms, r.created_ms,
    r.claimed_ms, f.value ->> 3, f.value ->> 4, r.worker, r.attempt, r.lost, f.value ->> 6, r.tags, r.parent_id, r.spec,
    r.attempts || CASE r.attempts WHEN '' THEN '' ELSE ',' END || (f.value -> 5)
FROM jsonb_each(?1) AS f
CROSS JOIN runs AS r ON r.id = unhex(f.value ->> 0)
WHERE r.token = f.value ->> 1 AND r.state = 'running'
ON CONFLICT (id) DO NOTHING;

-- name: finished
-- Which of them were written, for when that does not go without saying; before `end`.
SELECT r.id, r.job_id
FROM jsonb_each(?1) AS f
CROSS JOIN runs AS r ON r.id = unhex(f.value ->> 0)
CROSS JOIN history AS h ON h.id = r.id AND h.worker IS r.worker AND h.claimed_ms IS r.claimed_ms
WHERE r.token = f.value ->> 1 AND r.state = 'running';

-- name: end
-- Runs whose record is written leave the hot table.
DELETE FROM runs WHERE id IN carray(?1);

-- name: vacate
-- Runs leave their jobs' places. A run is of one job, so the two lists need not be compared pair by pair.
DELETE FROM places
WHERE
    job_id IN (SELECT unhex(value ->> 1) FROM jsonb_each(?1))
    AND run_id IN (SELECT unhex(value ->> 0) FROM jsonb_each(?1))
RETURNING job_id;

-- name: leave_places
-- move: free
-- Where a place was left, the first run that waits for it becomes ready.
UPDATE runs
SET state = 'ready', reason = NULL, token = token + 1
WHERE
    state = 'held' AND id IN (
        SELECT (
            SELECT h.id
            FROM runs AS h INDEXED BY runs_held
            WHERE h.job_id = unhex(j.value) AND h.state = 'held' AND h.waits_for IS NULL AND h.reason = 'overlap'
            ORDER BY h.id
            LIMIT 1
        )
        FROM json_each(?1) AS j
    )
RETURNING queue;

-- name: retry
-- move: retry
-- Attempts that ended, of runs that will be tried again. When the first of them was claimed is kept. The place of an exclusive job is kept: its run has not ended.
UPDATE runs
SET
    state = 'retrying', token = runs.token + 1, worker = NULL, claimed_ms = NULL, due_ms = f.due_ms,
    begun_ms = coalesce(runs.begun_ms, runs.claimed_ms),
    attempts = runs.attempts || CASE runs.attempts WHEN '' THEN '' ELSE ',' END || f.record
FROM (
    SELECT unhex(value ->> 0) AS run_id, value ->> 1 AS token, value ->> 2 AS due_ms, value -> 3 AS record FROM jsonb_each(?1)
) AS f
WHERE runs.id = f.run_id AND runs.token = f.token AND runs.state = 'running'
RETURNING id;

-- name: postpone
-- move: postpone
-- Claimed runs that are put off, as if they had never been claimed, but for the token. `vacate` follows for those that were never begun.
UPDATE runs
SET
    state = 'scheduled', token = runs.token + 1, worker = NULL, claimed_ms = NULL, attempt = runs.attempt - 1, reason = p.reason,
    due_ms = p.due_ms
FROM (
    SELECT unhex(value ->> 0) AS run_id, value ->> 1 AS token, value ->> 2 AS due_ms, value ->> 3 AS reason FROM jsonb_each(?1)
) AS p
WHERE runs.id = p.run_id AND runs.token = p.token AND runs.state = 'running'
RETURNING id, job_id, begun_ms;

-- name: hold_blocked
-- move: hold
-- Runs that wait for another run of their job, if it still has the place.
UPDATE runs
SET
    state = 'held', reason = 'overlap', token = runs.token + 1, worker = NULL, claimed_ms = NULL,
    attempt = runs.attempt - CASE runs.state WHEN 'running' THEN 1 ELSE 0 END
FROM (SELECT unhex(value ->> 0) AS run_id, value ->> 1 AS token FROM jsonb_each(?1)) AS b
WHERE
    runs.id = b.run_id AND runs.token = b.token AND runs.state IN ('ready', 'running')
    AND EXISTS (SELECT 1 FROM places AS p WHERE p.job_id = runs.job_id AND p.run_id <> runs.id)
RETURNING id;

-- name: skip_blocked
-- move: skip
-- The record of runs that must not overlap, and end before they started; `end` follows.
-- part: idle (state = 'cancelled'; attempt = r.attempt - CASE r.state WHEN 'running' THEN 1 ELSE 0 END; reason = ?2)
FROM jsonb_each(?1) AS b
CROSS JOIN runs AS r ON r.id = unhex(b.value ->> 0)
WHERE
    r.token = b.value ->> 1 AND r.state IN ('ready', 'running')
    AND EXISTS (SELECT 1 FROM places AS p WHERE p.job_id = r.job_id AND p.run_id <> r.id)
ON CONFLICT (id) DO NOTHING
RETURNING id, job_id;

-- name: sweep_places
-- A place is worth what its run is: one whose run is not live is nobody's.
DELETE FROM places WHERE NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.id = places.run_id);

-- name: free_held
-- move: free
-- Runs held for overlap although nothing of their job is under way: the truth behind a release that was missed.
UPDATE runs
SET state = 'ready', reason = NULL, token = token + 1
WHERE
    state = 'held' AND id IN (
        SELECT min(h.id)
        FROM runs AS h
        WHERE
            h.state = 'held' AND h.waits_for IS NULL AND h.reason = 'overlap'
            AND NOT EXISTS (SELECT 1 FROM places AS p WHERE p.job_id = h.job_id)
            AND NOT EXISTS (SELECT 1 FROM runs AS o WHERE o.job_id = h.job_id AND o.state = 'ready')
        GROUP BY h.job_id
        LIMIT ?1
    )
RETURNING queue;

-- name: chores
-- Of what is looked after now and then, whether there is any.
SELECT
    EXISTS (SELECT 1 FROM runs WHERE cancel IS NOT NULL),
    EXISTS (
        SELECT 1 FROM runs
        WHERE
            expires_ms IS NOT NULL AND expires_ms <= now_ms() AND attempt = 0 AND begun_ms IS NULL
            AND state IN ('scheduled', 'ready', 'held', 'retrying')
    ) OR EXISTS (SELECT 1 FROM run_progress),
    EXISTS (SELECT 1 FROM plans WHERE awaiting IS NOT NULL),
    EXISTS (SELECT 1 FROM places) OR EXISTS (SELECT 1 FROM runs WHERE state = 'held' AND waits_for IS NULL),
    EXISTS (SELECT 1 FROM gates)
    OR EXISTS (SELECT 1 FROM gate_places)
    OR EXISTS (SELECT 1 FROM runs WHERE state = 'held' AND waits_for IS NOT NULL),
    EXISTS (SELECT 1 FROM flows WHERE level <> ''),
    EXISTS (SELECT 1 FROM uniques WHERE sweep_ms <= now_ms());

-- name: strays
-- Claimed runs without a registered worker, and those that outlived their timeout and the grace.
SELECT
    r.id, r.token, r.job_id, r.version, r.worker, r.attempt, r.lost, r.claimed_ms,
    EXISTS (SELECT 1 FROM nodes AS n WHERE n.boot_id = r.worker) AS overtime, r.spec, r.cancel, r.begun_ms
FROM runs AS r
WHERE
    r.state = 'running' AND r.worker IS NOT NULL AND (
        NOT EXISTS (SELECT 1 FROM nodes AS n WHERE n.boot_id = r.worker)
        OR max(r.claimed_ms, r.due_ms) + r.timeout_ms + ?1 < now_ms()
    )
LIMIT ?2;

-- name: reclaim
-- move: reclaim
-- Take runs from owners that are gone, that held them past the timeout and the grace, or that give them up; all is checked again here.
UPDATE runs
SET
    state = w.next_state, token = runs.token + 1, worker = NULL, claimed_ms = NULL, lost = runs.lost + w.lost,
    attempt = runs.attempt - 1 + w.counted, due_ms = coalesce(w.due_ms, runs.due_ms),
    begun_ms = coalesce(runs.begun_ms, runs.claimed_ms),
    attempts = runs.attempts || CASE runs.attempts WHEN '' THEN '' ELSE ',' END || w.record
FROM (
    SELECT
        unhex(value ->> 0) AS run_id, value ->> 1 AS token, value ->> 2 AS next_state, value ->> 3 AS lost, value ->> 4 AS due_ms,
        value -> 6 AS record, value ->> 7 AS owner, value ->> 8 AS counted
    FROM jsonb_each(?1)
) AS w
WHERE
    runs.id = w.run_id AND runs.token = w.token AND runs.state = 'running' AND w.next_state IN ('ready', 'retrying')
    AND (
        NOT EXISTS (SELECT 1 FROM nodes AS n WHERE n.boot_id = runs.worker)
        OR max(runs.claimed_ms, runs.due_ms) + runs.timeout_ms + ?2 < now_ms()
        OR runs.worker = w.owner
    )
RETURNING id, queue, state;

-- name: reclaim_dead
-- move: reclaim
-- The record of those that are not tried again, under the same conditions; `end`, `vacate` and `leave_places` follow.
-- part: record
SELECT
    r.id, r.job_id, r.version, r.tenant, r.kind, w.value ->> 2, r.queue, r.priority, r.region, r.scheduled_ms, r.due_ms, r.created_ms,
    r.claimed_ms, NULL, now_ms(), r.worker, r.attempt, r.lost + (w.value ->> 3), w.value ->> 5, r.tags, r.parent_id, r.spec,
    r.attempts || CASE r.attempts WHEN '' THEN '' ELSE ',' END || (w.value -> 6)
FROM jsonb_each(?1) AS w
CROSS JOIN runs AS r ON r.id = unhex(w.value ->> 0)
WHERE
    r.token = w.value ->> 1 AND r.state = 'running' AND w.value ->> 2 IN ('failed', 'cancelled')
    AND (
        NOT EXISTS (SELECT 1 FROM nodes AS n WHERE n.boot_id = r.worker)
        OR max(r.claimed_ms, r.due_ms) + r.timeout_ms + ?2 < now_ms()
        OR r.worker = w.value ->> 7
    )
ON CONFLICT (id) DO NOTHING
RETURNING id, job_id;

-- name: queues
-- Queues that hold ready runs and are not paused, each with each of its lanes: a walk over the index that looks at one entry a pair.
WITH RECURSIVE
found (queue) AS (
    SELECT min(queue) FROM runs WHERE state = 'ready'
    UNION ALL
    SELECT (SELECT min(r.queue) FROM runs AS r WHERE r.state = 'ready' AND r.queue > f.queue)
    FROM found AS f
    WHERE f.queue IS NOT NULL
),
pairs (queue, lane) AS (
    SELECT f.queue, (SELECT min(r.lane) FROM runs AS r WHERE r.state = 'ready' AND r.queue = f.queue)
    FROM found AS f
    WHERE f.queue IS NOT NULL AND NOT EXISTS (SELECT 1 FROM queue_pauses AS q WHERE q.queue = f.queue)
    UNION ALL
    SELECT p.queue, (SELECT min(r.lane) FROM runs AS r WHERE r.state = 'ready' AND r.queue = p.queue AND r.lane > p.lane)
    FROM pairs AS p
    WHERE p.lane IS NOT NULL
)
SELECT queue, lane FROM pairs WHERE lane IS NOT NULL;
