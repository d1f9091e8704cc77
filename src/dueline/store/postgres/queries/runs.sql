-- name: enqueue
-- move: enqueue
-- Runs that somebody asked for. One that is not due soon waits outside the ready queue; one that exists, live or finished, is left out.
-- What all of them have in common is sent once: the array has one element, all but the first run find nothing there, and a SELECT of its own
-- is asked for it, which is done once. The form for new ones writes all of them or none: where one is live it fails, and where one may be
-- finished, because something between the first and the last id is, it writes nothing.
INSERT INTO dueline.runs (
    id, job_id, version, tenant, kind, state, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms, created_ms,
    token, attempt, lost, tags, parent_id, spec, attempts, overlap, lane, expires_ms,
    fairness_key, missed, notifies
)
SELECT
    r.id, r.job_id, r.version, coalesce(r.tenant, (SELECT ($7::text[])[1])), coalesce(r.kind, (SELECT ($8::text[])[1])),
    CASE
        WHEN r.rank IS NULL OR coalesce(r.due_ms, (SELECT ($16::bigint[])[1])) > (SELECT dueline.now_ms()) + $1 THEN 'scheduled'
        ELSE 'ready'
    END,
    coalesce(r.queue, (SELECT ($9::text[])[1])), coalesce(r.priority, (SELECT ($10::smallint[])[1])), coalesce(r.rank, 0),
    coalesce(r.region, (SELECT ($12::text[])[1])), coalesce(r.exclusive, (SELECT ($13::boolean[])[1])),
    coalesce(r.timeout_ms, (SELECT ($14::integer[])[1])), coalesce(r.scheduled_ms, (SELECT ($15::bigint[])[1])),
    coalesce(r.due_ms, (SELECT ($16::bigint[])[1])), (SELECT dueline.now_ms()), coalesce(r.token, (SELECT ($18::bigint[])[1])), 0, 0,
    coalesce(string_to_array(r.tags, E'\x1f'), (SELECT string_to_array(($17::text[])[1], E'\x1f'))), r.parent_id, r.spec, '',
    r.overlap, coalesce(r.lane, (SELECT ($19::text[])[1])), r.expires_ms, r.fairness_key, r.missed, r.notifies
FROM unnest(
    $4::uuid[], $5::uuid[], $6::integer[], $7::text[], $8::text[], $9::text[], $10::smallint[], $11::bigint[], $12::text[],
    $13::boolean[], $14::integer[], $15::bigint[], $16::bigint[], $17::text[], $18::bigint[], $19::text[], $20::text[],
    $21::bigint[], $22::text[], $23::boolean[], $24::uuid[], $25::text[], $26::boolean[]
) AS r (
    id, job_id, version, tenant, kind, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms, tags, token, lane,
    overlap, expires_ms, fairness_key, missed, parent_id, spec, notifies
)
-- Asked of each by its id: as a join it may have been planned while there was no history, and read all of it. As a rule nothing between the
-- first and the last id is finished.
WHERE
    NOT EXISTS (SELECT FROM dueline.history AS h WHERE h.id BETWEEN $2 AND $3)
    -- unless new:
    OR (SELECT true FROM dueline.history AS h WHERE h.id = r.id) IS NOT TRUE
ON CONFLICT (id) DO NOTHING
RETURNING id
    -- :unless new
;

-- name: count_waiting
-- How many wait that are due until an instant, so many at most.
SELECT count(*) FROM (SELECT FROM dueline.runs WHERE state IN ('scheduled', 'retrying') AND due_ms <= $1 LIMIT $2) AS w;

-- name: near
-- Waiting runs whose time is near, and whether workers may claim them by now; `promote` follows. Others who do the same leave them alone
-- until then.
SELECT id, due_ms <= (SELECT dueline.now_ms()) + $3 AS claimable, due_ms, queue, lane, tenant, priority, state, reason, missed, fairness_key
FROM dueline.runs
WHERE state IN ('scheduled', 'retrying') AND due_ms <= (SELECT dueline.now_ms()) + $1
ORDER BY due_ms
LIMIT $2
FOR UPDATE SKIP LOCKED;

-- name: promote
-- move: promote
-- Waiting runs get their ranks; they were locked since they were found. Why one was put off is over with that.
-- Here and elsewhere ids are said twice, and rows that are given come with subscripts that nobody reads, for the sake of plans that were made
-- while a table was empty: see docs/internals/dispatch.md.
UPDATE dueline.runs AS r SET state = 'ready', reason = NULL, rank = p.rank
FROM ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS p (id, rank)
WHERE r.id = p.id AND r.id = ANY($1::uuid[]);

-- name: upcoming
-- When the next waiting run is due, and when the next token comes that somebody waits for: the first entry of an index each. A minimum may
-- have been planned while there were none, and read all.
SELECT
    (SELECT due_ms FROM dueline.runs WHERE state IN ('scheduled', 'retrying') ORDER BY due_ms LIMIT 1) AS due_ms,
    (SELECT refill_ms FROM dueline.gates WHERE refill_ms IS NOT NULL ORDER BY refill_ms LIMIT 1) AS refill_ms;

-- name: claim
-- move: claim
-- Ready runs of a lane in rank order, from a rank on, for a worker that is registered, unless the queue is paused; answered in any order. A
-- run that came too late to be started is left to `expire`; one that was begun before was not too late. A run of an exclusive job that is due
-- needs the job's place; one that finds it taken is reported with a null claimed_ms and stays as it is. One that is not due yet asks for the
-- place when it starts, and a retried one has it already. What was picked is locked, so it is where it was found and needs no second
-- look-up by its id; one that was changed between the two is left for the next claim.
WITH picked AS MATERIALIZED (
    SELECT ctid AS at, id, job_id, version, token, rank, overlap, exclusive AND due_ms <= (SELECT dueline.now_ms()) AS needs_place
    FROM dueline.runs
    WHERE
        queue = $2 AND lane = $3 AND state = 'ready' AND rank >= $6 AND due_ms <= (SELECT dueline.now_ms()) + $4
        AND (expires_ms IS NULL OR expires_ms > (SELECT dueline.now_ms()) OR begun_ms IS NOT NULL)
        AND EXISTS (SELECT FROM dueline.nodes WHERE boot_id = $1)
        AND NOT EXISTS (SELECT FROM dueline.queue_pauses WHERE queue = $2)
    ORDER BY rank, id
    LIMIT $5
    FOR UPDATE SKIP LOCKED
), placed AS (
    INSERT INTO dueline.places (job_id, run_id)
    SELECT DISTINCT ON (job_id) job_id, id FROM picked WHERE needs_place ORDER BY job_id, rank, id
    ON CONFLICT (job_id) DO NOTHING
    RETURNING run_id
), claimed AS (
    UPDATE dueline.runs AS r
    SET state = 'running', token = r.token + 1, worker = $1, claimed_ms = (SELECT dueline.now_ms()), attempt = r.attempt + 1
    WHERE r.ctid = ANY(ARRAY(
        SELECT p.at
        FROM picked AS p
        WHERE
            NOT p.needs_place
            OR p.id IN (SELECT run_id FROM placed)
            OR EXISTS (SELECT FROM dueline.places AS o WHERE o.job_id = p.job_id AND o.run_id = p.id)
    ))
    RETURNING
        r.id, r.token, r.job_id, r.version, r.tenant, r.kind, r.scheduled_ms, r.due_ms, r.claimed_ms, r.attempt, r.lost, r.exclusive,
        r.spec, r.begun_ms, r.expires_ms, r.overlap, r.rank
)
SELECT
    id, token, job_id, version, tenant, kind, scheduled_ms, due_ms, claimed_ms, attempt, lost, exclusive, spec, begun_ms, expires_ms,
    overlap, false AS gated, rank, NULL AS held
FROM claimed
UNION ALL
SELECT
    p.id, p.token, p.job_id, p.version, NULL, NULL, NULL, NULL, NULL, NULL, NULL, true, NULL, NULL, NULL, p.overlap, false, p.rank,
    (SELECT count(*) FROM dueline.runs AS h WHERE h.job_id = p.job_id AND h.state = 'held' AND h.waits_for IS NULL)
FROM picked AS p
WHERE
    p.needs_place
    AND p.id NOT IN (SELECT run_id FROM placed)
    AND (SELECT true FROM dueline.places AS o WHERE o.job_id = p.job_id AND o.run_id = p.id) IS NOT TRUE;

-- name: claims_of
-- What a worker holds.
SELECT
    r.id, r.token, r.job_id, r.version, r.tenant, r.kind, r.scheduled_ms, r.due_ms, r.claimed_ms, r.attempt, r.lost, r.exclusive, r.spec,
    r.begun_ms, r.expires_ms, r.overlap, EXISTS (SELECT FROM dueline.gate_places AS p WHERE p.run_id = r.id) AS gated,
    r.queue
FROM dueline.runs AS r
WHERE r.state = 'running' AND r.worker = $1;

-- name: confirm
-- move: confirm
-- Claims that still hold, and which of them somebody may be changing: whoever changes a run marks its row first, and reads the clock then. A
-- row that was left alone since its claim says so itself, by who wrote it and who locked it last, so that nothing has to be written here.
-- One whose time has not come by this clock must not start: to whoever cancels it, it has not been begun.
SELECT r.id, r.token, r.xmax <> '0'::xid AND r.xmax <> r.xmin AS marked
FROM ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS c (id, token)
JOIN dueline.runs AS r ON r.id = c.id AND r.token = c.token AND r.state = 'running' AND r.id = ANY($1::uuid[])
WHERE r.due_ms <= (SELECT dueline.now_ms()) + $3;

-- name: confirm_marked
-- move: confirm
-- The same for those. The lock, taken in the order of the ids as everywhere, makes this wait for a change that is under way; it leaves
-- nothing behind that a crash could lose, so it need not wait for the disk.
WITH quick AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS set
)
SELECT r.id, r.token
FROM quick
CROSS JOIN ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS c (id, token)
JOIN dueline.runs AS r ON r.id = c.id AND r.token = c.token AND r.state = 'running' AND r.id = ANY($1::uuid[])
WHERE quick.set IS NOT NULL AND r.due_ms <= (SELECT dueline.now_ms()) + $3
ORDER BY r.id
FOR KEY SHARE OF r;

-- name: confirm_exclusive
-- move: confirm
-- The same for runs that must not overlap: to start, each needs its job's place. The answer says which have it.
WITH asked AS MATERIALIZED (
    SELECT r.id, r.token, r.job_id, r.version, r.rank, r.overlap
    FROM ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS c (id, token)
    JOIN dueline.runs AS r ON r.id = c.id AND r.token = c.token AND r.state = 'running' AND r.id = ANY($1::uuid[])
    WHERE r.due_ms <= (SELECT dueline.now_ms()) + $3
    ORDER BY r.id
    FOR NO KEY UPDATE OF r
), placed AS (
    INSERT INTO dueline.places (job_id, run_id)
    SELECT DISTINCT ON (job_id) job_id, id FROM asked ORDER BY job_id, rank, id
    ON CONFLICT (job_id) DO NOTHING
    RETURNING run_id
)
SELECT
    a.id, a.token, a.job_id, a.version,
    a.id IN (SELECT run_id FROM placed)
    OR EXISTS (SELECT FROM dueline.places AS o WHERE o.job_id = a.job_id AND o.run_id = a.id) AS placed,
    CASE
        WHEN a.id NOT IN (SELECT run_id FROM placed)
            THEN (SELECT count(*) FROM dueline.runs AS h WHERE h.job_id = a.job_id AND h.state = 'held' AND h.waits_for IS NULL)
    END AS held,
    a.overlap
FROM asked AS a;

-- name: release
-- move: release
-- Unstarted runs go back as if they had never been claimed, but for the token, which only grows. One that was begun before, were it by an
-- attempt that does not count, keeps its job's place.
WITH given AS (
    UPDATE dueline.runs AS r
    SET state = 'ready', token = r.token + 1, worker = NULL, claimed_ms = NULL, attempt = r.attempt - 1
    FROM ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS c (id, token)
    WHERE r.id = c.id AND r.token = c.token AND r.state = 'running' AND r.id = ANY($1::uuid[])
    RETURNING r.id, r.job_id, r.begun_ms, r.queue
), left_places AS (
    DELETE FROM dueline.places
    WHERE
        job_id = ANY(ARRAY(SELECT job_id FROM given WHERE begun_ms IS NULL))
        AND run_id = ANY(ARRAY(SELECT id FROM given WHERE begun_ms IS NULL))
)
SELECT id, queue FROM given;

-- name: postpone
-- move: postpone
-- Unstarted runs go back to wait for other due times, each for its reason. Otherwise as `release`.
WITH given AS (
    UPDATE dueline.runs AS r
    SET
        state = 'scheduled', token = r.token + 1, worker = NULL, claimed_ms = NULL, attempt = r.attempt - 1,
        due_ms = p.due_ms, reason = p.reason
    FROM ROWS FROM (unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[]), generate_subscripts($1::uuid[], 1))
        AS p (id, token, due_ms, reason)
    WHERE r.id = p.id AND r.token = p.token AND r.state = 'running' AND r.id = ANY($1::uuid[])
    RETURNING r.id, r.job_id, r.begun_ms
), left_places AS (
    DELETE FROM dueline.places
    WHERE
        job_id = ANY(ARRAY(SELECT job_id FROM given WHERE begun_ms IS NULL))
        AND run_id = ANY(ARRAY(SELECT id FROM given WHERE begun_ms IS NULL))
)
SELECT id FROM given;

-- name: finish
-- move: finish
-- From the hot table to history, for those whose token matches. Whatever happens, a run has one end: the first. One that failed is a dead
-- letter from here on. What all of them have in common is sent once. Those that have places at gates ($8) leave them: a join finds them, where
-- a search through their list for each of a thousand would cost 0.3 ms with a hundred of them, and more than that with more. So do those
-- that have the places of their jobs, if there may be some ($10). Answers who ended, their jobs if somebody asks ($9), and the queues to
-- look into: as arrays, because a row for each of a thousand costs more than all of this. The form for runs of which none is in history yet
-- fails where one is.
WITH ended AS (
    DELETE FROM dueline.runs AS r
    USING ROWS FROM (
        unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::text[], $7::text[]),
        generate_subscripts($1::uuid[], 1)
    ) AS f (id, token, end_state, started_ms, finished_ms, record, why)
    WHERE r.id = f.id AND r.token = coalesce(f.token, (SELECT ($2::bigint[])[1])) AND r.state = 'running' AND r.id = ANY($1::uuid[])
    RETURNING
        r.id, r.job_id, r.version, r.tenant, r.kind, r.queue, r.priority, r.region, r.scheduled_ms, r.due_ms, r.created_ms, r.claimed_ms,
        r.worker, r.attempt, r.lost, r.tags, r.parent_id, r.spec, r.attempts, r.notifies,
        coalesce(f.end_state, (SELECT ($3::text[])[1])) AS end_state, f.started_ms, f.finished_ms,
        coalesce(f.record, (SELECT ($6::text[])[1])) AS record, f.why
), kept AS (
    -- part: record
    SELECT
        id, job_id, version, tenant, kind, end_state, queue, priority, region, scheduled_ms, due_ms, created_ms, claimed_ms, started_ms,
        finished_ms, worker, attempt, lost, why, tags, parent_id, spec, attempts || CASE attempts WHEN '' THEN '' ELSE ',' END || record
    FROM ended
    -- unless new:
    ON CONFLICT (id) DO NOTHING
    -- :unless new
    RETURNING id, tenant, job_id, queue, state, reason, finished_ms
),
-- part: letters
SELECT
    coalesce(array_agg(id), '{}') AS ids, CASE WHEN $9::boolean THEN array_agg(job_id) END AS job_ids,
    ARRAY(
        SELECT queue
        FROM dueline.leave_gates(ARRAY(
            SELECT k.id FROM ROWS FROM (unnest($8::uuid[]), generate_subscripts($8::uuid[], 1)) AS g (id) JOIN kept AS k ON k.id = g.id
        ))
        UNION ALL
        SELECT queue
        FROM dueline.leave_places(
            ARRAY(SELECT id FROM kept WHERE $10::boolean AND job_id IS NOT NULL),
            ARRAY(SELECT job_id FROM kept WHERE $10::boolean AND job_id IS NOT NULL)
        )
    ) AS woken
FROM kept;

-- name: leave_places
-- move: free
-- Where a place is left, the first run that waits for it becomes ready.
SELECT queue FROM dueline.leave_places($1::uuid[], $2::uuid[]);

-- name: retry
-- move: retry
-- Attempts that ended, of runs that will be tried again. The place of an exclusive job is kept: its run has not ended.
UPDATE dueline.runs AS r
SET
    state = 'retrying', token = r.token + 1, worker = NULL, claimed_ms = NULL, due_ms = f.due_ms,
    begun_ms = coalesce(r.begun_ms, r.claimed_ms),
    attempts = r.attempts || CASE r.attempts WHEN '' THEN '' ELSE ',' END || f.record
FROM ROWS FROM (unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[]), generate_subscripts($1::uuid[], 1))
    AS f (id, token, due_ms, record)
WHERE r.id = f.id AND r.token = f.token AND r.state = 'running' AND r.id = ANY($1::uuid[])
RETURNING r.id;

-- name: hold_blocked
-- move: hold
-- Runs that wait for another run of their job. The lock on the place makes its holder's end wait, and see them. Several workers see the
-- same runs blocked: locks are taken in order, runs before places, as everywhere.
WITH chosen AS MATERIALIZED (
    SELECT r.id, r.job_id
    FROM ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS b (id, token)
    JOIN dueline.runs AS r ON r.id = b.id AND r.token = b.token AND r.state IN ('ready', 'running') AND r.id = ANY($1::uuid[])
    ORDER BY r.id
    FOR NO KEY UPDATE OF r
), occupied AS MATERIALIZED (
    SELECT c.id
    FROM (SELECT id, job_id FROM chosen ORDER BY job_id) AS c
    CROSS JOIN LATERAL (SELECT FROM dueline.places WHERE job_id = c.job_id AND run_id <> c.id FOR KEY SHARE) AS p
)
UPDATE dueline.runs AS r
SET
    state = 'held', reason = 'overlap', token = r.token + 1, worker = NULL, claimed_ms = NULL,
    attempt = r.attempt - CASE r.state WHEN 'running' THEN 1 ELSE 0 END
WHERE r.id = ANY(ARRAY(SELECT id FROM occupied))
RETURNING r.id;

-- name: skip_blocked
-- move: skip
-- Runs that must not overlap end here, before they started.
WITH chosen AS MATERIALIZED (
    SELECT r.id
    FROM ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS b (id, token)
    JOIN dueline.runs AS r ON r.id = b.id AND r.token = b.token AND r.state IN ('ready', 'running') AND r.id = ANY($1::uuid[])
    ORDER BY r.id
    FOR UPDATE OF r
), ended AS (
    DELETE FROM dueline.runs AS r
    WHERE
        r.id = ANY(ARRAY(SELECT id FROM chosen)) AND (SELECT p.run_id <> r.id FROM dueline.places AS p WHERE p.job_id = r.job_id)
    RETURNING r.*, r.attempt - CASE r.state WHEN 'running' THEN 1 ELSE 0 END AS attempts_made
),
-- part: idle (state = 'cancelled'; attempt = attempts_made; reason = $3)
SELECT id, job_id, finished_ms FROM kept;

-- name: sweep_places
-- A place is worth what its run is: one whose run is not live is nobody's. Asked of each by its id: as a join it may have been planned while
-- there were none, and compare each with each.
DELETE FROM dueline.places AS p WHERE (SELECT true FROM dueline.runs AS r WHERE r.id = p.run_id) IS NOT TRUE;

-- name: free_held
-- move: free
-- Runs held for overlap although nothing of their job is under way: the truth behind a release that was missed.
WITH stuck AS MATERIALIZED (
    SELECT DISTINCT ON (h.job_id) h.id
    FROM dueline.runs AS h
    WHERE
        h.state = 'held' AND h.waits_for IS NULL AND h.reason = 'overlap'
        AND (SELECT true FROM dueline.places AS p WHERE p.job_id = h.job_id) IS NOT TRUE
        AND 'ready' NOT IN (SELECT o.state FROM dueline.runs AS o WHERE o.job_id = h.job_id)
    ORDER BY h.job_id, h.id
    LIMIT $1
)
UPDATE dueline.runs AS r
SET state = 'ready', reason = NULL, token = r.token + 1
WHERE r.id = ANY(ARRAY(SELECT id FROM stuck)) AND r.state = 'held'
RETURNING r.queue;

-- name: chores
-- Of what is looked after now and then, whether there is any.
SELECT
    EXISTS (SELECT FROM dueline.runs WHERE cancel IS NOT NULL) AS cancels,
    EXISTS (
        SELECT FROM dueline.runs
        WHERE
            expires_ms IS NOT NULL AND expires_ms <= dueline.now_ms() AND attempt = 0 AND begun_ms IS NULL
            AND state IN ('scheduled', 'ready', 'held', 'retrying')
    ) OR EXISTS (SELECT FROM dueline.run_progress) AS expiries,
    EXISTS (SELECT FROM dueline.plans WHERE awaiting IS NOT NULL) AS awaiting,
    EXISTS (SELECT FROM dueline.places)
    OR EXISTS (SELECT FROM dueline.runs WHERE state = 'held' AND waits_for IS NULL) AS held,
    EXISTS (SELECT FROM dueline.gates)
    OR EXISTS (SELECT FROM dueline.gate_places)
    OR EXISTS (SELECT FROM dueline.runs WHERE state = 'held' AND waits_for IS NOT NULL) AS gates,
    EXISTS (SELECT FROM dueline.flows WHERE level <> '') AS flows,
    EXISTS (SELECT FROM dueline.uniques WHERE sweep_ms <= dueline.now_ms()) AS keys;

-- name: strays
-- Claimed runs without a registered worker, and those that outlived their timeout and the grace.
SELECT
    r.id, r.token, r.job_id, r.version, r.worker, r.attempt, r.lost, r.claimed_ms,
    EXISTS (SELECT FROM dueline.nodes AS n WHERE n.boot_id = r.worker) AS overtime, r.spec, r.cancel, r.begun_ms
FROM dueline.runs AS r
WHERE
    r.state = 'running' AND r.worker IS NOT NULL AND (
        NOT EXISTS (SELECT FROM dueline.nodes AS n WHERE n.boot_id = r.worker)
        OR greatest(r.claimed_ms, r.due_ms) + r.timeout_ms + $1 < dueline.now_ms()
    )
LIMIT $2;

-- name: reclaim
-- move: reclaim
-- Take runs from owners that are gone, that held them past the timeout and the grace, or that give them up; all is checked again here.
-- One that ends as failed is a dead letter from here on. Locked in the order of the ids: of two who sweep, one may end what the other
-- gives back.
WITH asked AS MATERIALIZED (
    SELECT *, next_state IN ('failed', 'cancelled') AS ends
    FROM ROWS FROM (
        unnest($1::uuid[], $2::bigint[], $3::text[], $4::integer[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::integer[]),
        generate_subscripts($1::uuid[], 1)
    ) AS a (id, token, next_state, lost, due_ms, why, record, owner, counted)
), wanted AS MATERIALIZED (
    SELECT r.id
    FROM asked AS w
    JOIN dueline.runs AS r ON r.id = w.id AND r.token = w.token AND r.state = 'running' AND r.id = ANY($1::uuid[])
    WHERE
        NOT EXISTS (SELECT FROM dueline.nodes AS n WHERE n.boot_id = r.worker)
        OR greatest(r.claimed_ms, r.due_ms) + r.timeout_ms + $10 < dueline.now_ms()
        OR r.worker = w.owner
    ORDER BY r.id
    FOR UPDATE OF r
), back AS (
    UPDATE dueline.runs AS r
    SET
        state = w.next_state, token = r.token + 1, worker = NULL, claimed_ms = NULL, lost = r.lost + w.lost,
        attempt = r.attempt - 1 + w.counted, due_ms = coalesce(w.due_ms, r.due_ms),
        begun_ms = coalesce(r.begun_ms, r.claimed_ms),
        attempts = r.attempts || CASE r.attempts WHEN '' THEN '' ELSE ',' END || w.record
    FROM asked AS w
    WHERE
        r.id = w.id AND r.token = w.token AND r.state = 'running' AND NOT w.ends
        AND r.id = ANY(ARRAY(SELECT id FROM wanted))
    RETURNING r.id, r.queue
), ended AS (
    DELETE FROM dueline.runs AS r
    USING asked AS w
    WHERE
        r.id = w.id AND r.token = w.token AND r.state = 'running' AND w.ends
        AND r.id = ANY(ARRAY(SELECT id FROM wanted))
    RETURNING r.*, w.next_state, w.why, w.record, w.lost AS lost_now
), kept AS (
    -- part: record
    SELECT
        id, job_id, version, tenant, kind, next_state, queue, priority, region, scheduled_ms, due_ms, created_ms, claimed_ms, NULL,
        dueline.now_ms(), worker, attempt, lost + lost_now, why, tags, parent_id, spec,
        attempts || CASE attempts WHEN '' THEN '' ELSE ',' END || record
    FROM ended
    ON CONFLICT (id) DO NOTHING
    RETURNING id, tenant, job_id, queue, state, reason, finished_ms
),
-- part: letters
SELECT id, NULL AS ended_job_id, NULL AS ended_ms, queue FROM back
UNION ALL
SELECT id, job_id, dueline.now_ms(), queue FROM ended;

-- name: queues
-- Queues that hold ready runs, each with each of its lanes: a walk over the index that looks at one entry a lane. Paused ones are left out.
WITH RECURSIVE found (queue, lane) AS (
    (SELECT queue, lane FROM dueline.runs WHERE state = 'ready' ORDER BY queue, lane LIMIT 1)
    UNION ALL
    SELECT n.queue, n.lane
    FROM found AS f
    CROSS JOIN LATERAL (
        SELECT r.queue, r.lane
        FROM dueline.runs AS r
        WHERE r.state = 'ready' AND (r.queue, r.lane) > (f.queue, f.lane)
        ORDER BY r.queue, r.lane
        LIMIT 1
    ) AS n
)
SELECT f.queue, f.lane
FROM found AS f
WHERE NOT EXISTS (SELECT FROM dueline.queue_pauses AS p WHERE p.queue = f.queue);
