-- name: stand
-- First step of passing gates: claims that still hold are locked, then the gates; see the function. Rows without a scope are the claims. It
-- is the last step too where the places that are wanted are there for all: then no gate is among the rows.
SELECT gate, scope, most, interval_us, burst, full_us, as_of, taken, moment_ms
FROM dueline.stand_at(
    $1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::integer[], $9::bigint[], $10::integer[],
    $11::uuid[], $12::uuid[]
);

-- name: count_places
-- In a statement of its own: what others wrote before the gates were locked is seen. And what time it is by now.
SELECT g.gate, (SELECT count(*) FROM dueline.gate_places AS p WHERE p.gate = g.gate) AS taken, dueline.now_ms() AS now_ms
FROM unnest($1::uuid[]) AS g (gate);

-- name: take_places
-- Runs that pass.
INSERT INTO dueline.gate_places (gate, run_id)
SELECT t.gate, t.run_id FROM unnest($1::uuid[], $2::uuid[]) AS t (gate, run_id)
ON CONFLICT DO NOTHING;

-- name: charge
-- What passing took from the buckets, and when those who wait should be looked at.
UPDATE dueline.gates AS g
SET full_us = c.full_us, refill_ms = CASE WHEN c.awaited OR g.refill_ms IS NOT NULL THEN least(g.refill_ms, c.refill_ms) END
FROM ROWS FROM (unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::boolean[]), generate_subscripts($1::uuid[], 1))
    AS c (gate, full_us, refill_ms, awaited)
WHERE g.gate = c.gate AND g.gate = ANY($1::uuid[]);

-- name: hold_refused
-- move: hold
-- Runs that do not pass, each with the gate that it waits for and why. The place of an exclusive job is kept.
UPDATE dueline.runs AS r
SET
    state = 'held', reason = f.reason, waits_for = f.gate, token = r.token + 1, worker = NULL, claimed_ms = NULL,
    attempt = r.attempt - 1
FROM ROWS FROM (unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[]), generate_subscripts($1::uuid[], 1))
    AS f (id, token, gate, reason)
WHERE r.id = f.id AND r.token = f.token AND r.state = 'running' AND r.id = ANY($1::uuid[])
RETURNING r.id;

-- name: leave
-- Runs that are not under way any more leave their places, and those who wait for them become ready; see the function. Answers the queues
-- to look into.
SELECT queue FROM dueline.leave_gates($1::uuid[]);

-- name: free_next
-- move: free
-- The first of those who wait at each gate become ready, as many as may.
WITH next AS MATERIALIZED (
    SELECT n.id
    FROM unnest($1::uuid[], $2::integer[]) AS f (gate, room)
    CROSS JOIN LATERAL (
        SELECT h.id
        FROM dueline.runs AS h
        WHERE h.waits_for = f.gate AND h.state = 'held'
        ORDER BY h.rank, h.id
        LIMIT f.room
        FOR UPDATE SKIP LOCKED
    ) AS n
)
UPDATE dueline.runs AS r
SET state = 'ready', reason = NULL, waits_for = NULL, token = r.token + 1
WHERE r.id = ANY(ARRAY(SELECT id FROM next)) AND r.state = 'held'
RETURNING r.queue;

-- name: look
-- One gate as it stands, for those who only want to know.
SELECT
    g.full_us, (SELECT count(*) FROM dueline.gate_places AS p WHERE p.gate = g.gate) AS taken, dueline.now_ms() AS now_ms
FROM dueline.gates AS g
WHERE g.gate = $1;

-- name: refilled
-- Gates where somebody waits for a token that is due. Others who do the same leave them alone.
SELECT gate, scope, most, interval_us, burst, full_us, as_of
FROM dueline.gates
WHERE refill_ms <= dueline.now_ms()
ORDER BY refill_ms
LIMIT $1
FOR NO KEY UPDATE SKIP LOCKED;

-- name: refill
-- When to look again, where somebody is left.
UPDATE dueline.gates AS g
SET
    refill_ms = CASE WHEN EXISTS (
        SELECT FROM dueline.runs AS h WHERE h.waits_for = g.gate AND h.state = 'held'
    ) THEN n.refill_ms END
FROM ROWS FROM (unnest($1::uuid[], $2::bigint[]), generate_subscripts($1::uuid[], 1)) AS n (gate, refill_ms)
WHERE g.gate = n.gate AND g.gate = ANY($1::uuid[]);

-- name: sweep_places
-- A place is worth what its run is: one whose run is not under way is nobody's. Whoever has one locked sees to it.
DELETE FROM dueline.gate_places
WHERE ctid = ANY(ARRAY(
    SELECT p.ctid
    FROM dueline.gate_places AS p
    -- Asked of each run by its id, however early this was planned.
    WHERE (SELECT r.state FROM dueline.runs AS r WHERE r.id = p.run_id) IS DISTINCT FROM 'running'
    FOR UPDATE SKIP LOCKED
));

-- name: sweep_found
-- Gates where somebody waits though there is room: the truth behind a release that was missed, or that went to one who cannot use it.
-- A walk over the index of those who wait that looks at one of them a gate. A gate that is not there any more has room for all.
WITH RECURSIVE awaited (gate) AS (
    (
        SELECT waits_for FROM dueline.runs WHERE state = 'held' AND waits_for IS NOT NULL ORDER BY waits_for LIMIT 1
    )
    UNION ALL
    SELECT n.waits_for
    FROM awaited AS a
    CROSS JOIN LATERAL (
        SELECT h.waits_for FROM dueline.runs AS h WHERE h.state = 'held' AND h.waits_for > a.gate ORDER BY h.waits_for LIMIT 1
    ) AS n
)
SELECT a.gate, g.most - t.taken AS room
FROM awaited AS a
LEFT JOIN LATERAL (SELECT gate, most, refill_ms FROM dueline.gates WHERE gate = a.gate OFFSET 0) AS g ON true
CROSS JOIN LATERAL (SELECT count(*)::integer AS taken FROM dueline.gate_places AS p WHERE p.gate = a.gate) AS t
WHERE g.gate IS NULL OR (g.refill_ms IS NULL AND (g.most IS NULL OR g.most > t.taken))
LIMIT $1;

-- name: forget
-- Gates that nobody has come to for a while, and where nothing is to be remembered. Those of jobs that were changed are kept for longer.
DELETE FROM dueline.gates
WHERE gate = ANY(ARRAY(
    SELECT g.gate
    FROM dueline.gates AS g
    WHERE
        g.seen_ms < dueline.now_ms() - CASE WHEN g.scope = 'job' AND g.as_of > 1 THEN $3::bigint ELSE $1 END AND g.refill_ms IS NULL AND g.full_us < dueline.now_ms() * 1000
        -- Asked of each gate, however early this was planned.
        AND (SELECT p.gate FROM dueline.gate_places AS p WHERE p.gate = g.gate LIMIT 1) IS NULL
        AND (SELECT h.waits_for FROM dueline.runs AS h WHERE h.waits_for = g.gate AND h.state = 'held' LIMIT 1) IS NULL
    LIMIT $2
    FOR UPDATE SKIP LOCKED
))
RETURNING gate;

-- name: count_in
-- Runs under way when a limit is set have places from then on, as if they had passed. One of the three is given.
INSERT INTO dueline.gate_places (gate, run_id)
SELECT $1, r.id
FROM dueline.runs AS r
WHERE r.state = 'running' AND r.worker IS NOT NULL AND r.due_ms <= dueline.now_ms() AND (r.queue = $2 OR r.tenant = $3 OR r.job_id = $4)
ON CONFLICT DO NOTHING;
