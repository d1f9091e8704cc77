-- name: wishes
-- First step of passing gates: claims that still hold.
SELECT r.id
FROM jsonb_each(?1) AS w
CROSS JOIN runs AS r ON r.id = unhex(w.value ->> 0) AND r.token = w.value ->> 1 AND r.state = 'running';

-- name: stand
-- Second step: what the gates let through. The latest word on it counts: with another rate the bucket is empty at worst, and those who wait
-- for a token by the old one are looked at again.
INSERT INTO gates (gate, scope, tenant, name, as_of, most, interval_us, burst, full_us, seen_ms)
SELECT
    unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7, 0, now_ms()
FROM jsonb_each(?1)
WHERE true
ON CONFLICT (gate) DO UPDATE SET
    as_of = max(gates.as_of, excluded.as_of),
    most = CASE WHEN excluded.as_of >= gates.as_of THEN excluded.most ELSE gates.most END,
    interval_us = CASE WHEN excluded.as_of >= gates.as_of THEN excluded.interval_us ELSE gates.interval_us END,
    burst = CASE WHEN excluded.as_of >= gates.as_of THEN excluded.burst ELSE gates.burst END,
    full_us = CASE
        WHEN excluded.as_of > gates.as_of AND (excluded.interval_us, excluded.burst) IS NOT (gates.interval_us, gates.burst)
            THEN coalesce(min(gates.full_us, excluded.seen_ms * 1000 + excluded.burst * excluded.interval_us), gates.full_us)
        ELSE gates.full_us
    END,
    refill_ms = iif(excluded.as_of > gates.as_of AND gates.refill_ms IS NOT NULL, excluded.seen_ms, gates.refill_ms),
    seen_ms = excluded.seen_ms
RETURNING gate, scope, most, interval_us, burst, full_us, as_of;

-- name: count_places
-- Third step: how many have a place at each.
SELECT g.gate, (SELECT count(*) FROM gate_places AS p WHERE p.gate = g.gate) AS taken
FROM (SELECT unhex(value) AS gate FROM json_each(?1)) AS g;

-- name: take_places
-- Runs that pass.
INSERT INTO gate_places (gate, run_id)
SELECT unhex(value ->> 0), unhex(value ->> 1) FROM jsonb_each(?1)
WHERE true
ON CONFLICT DO NOTHING;

-- name: charge
-- What passing took from the buckets, and when those who wait should be looked at.
UPDATE gates
SET
    full_us = c.full_us,
    refill_ms = coalesce(min(gates.refill_ms, c.refill_ms), gates.refill_ms, iif(c.awaited, c.refill_ms, NULL))
FROM (
    SELECT unhex(value ->> 0) AS gate, value ->> 1 AS full_us, value ->> 2 AS refill_ms, value ->> 3 AS awaited FROM jsonb_each(?1)
) AS c
WHERE gates.gate = c.gate;

-- name: hold_refused
-- move: hold
-- Runs that do not pass, each with the gate that it waits for and why. The place of an exclusive job is kept.
UPDATE runs
SET
    state = 'held', reason = f.reason, waits_for = f.gate, token = runs.token + 1, worker = NULL, claimed_ms = NULL,
    attempt = runs.attempt - 1
FROM (
    SELECT unhex(value ->> 0) AS run_id, value ->> 1 AS token, unhex(value ->> 2) AS gate, value ->> 3 AS reason FROM jsonb_each(?1)
) AS f
WHERE runs.id = f.run_id AND runs.token = f.token AND runs.state = 'running'
RETURNING id;

-- name: gates
-- The gates where runs have places.
SELECT gate, scope, name, most, refill_ms
FROM gates
WHERE gate IN (SELECT p.gate FROM gate_places AS p WHERE p.run_id IN (SELECT unhex(value) FROM json_each(?1)));

-- name: leave
-- Runs that are not under way any more leave their places.
DELETE FROM gate_places WHERE run_id IN (SELECT unhex(value) FROM json_each(?1)) RETURNING gate;

-- name: free_next
-- move: free
-- The first of those who wait at a gate become ready, as many as may.
UPDATE runs
SET state = 'ready', reason = NULL, waits_for = NULL, token = token + 1
WHERE id IN (SELECT h.id FROM runs AS h WHERE h.waits_for = ?1 AND h.state = 'held' ORDER BY h.rank, h.id LIMIT ?2) AND state = 'held'
RETURNING queue;

-- name: look
-- One gate as it stands, for those who only want to know.
SELECT g.full_us, (SELECT count(*) FROM gate_places AS p WHERE p.gate = g.gate) AS taken FROM gates AS g WHERE g.gate = ?1;

-- name: refilled
-- Gates where somebody waits for a token that is due.
SELECT gate, scope, most, interval_us, burst, full_us, as_of FROM gates WHERE refill_ms <= now_ms() ORDER BY refill_ms LIMIT ?1;

-- name: refill
-- When to look again, where somebody is left.
UPDATE gates
SET
    refill_ms = CASE WHEN EXISTS (SELECT 1 FROM runs AS h WHERE h.waits_for = gates.gate AND h.state = 'held') THEN n.refill_ms END
FROM (SELECT unhex(value ->> 0) AS gate, value ->> 1 AS refill_ms FROM jsonb_each(?1)) AS n
WHERE gates.gate = n.gate;

-- name: sweep_places
-- A place is worth what its run is: one whose run is not under way is nobody's.
DELETE FROM gate_places WHERE NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.id = gate_places.run_id AND r.state = 'running');

-- name: sweep_found
-- Gates where somebody waits though there is room: the truth behind a release that was missed, or that went to one who cannot use it.
-- A walk over the index of those who wait that looks at one of them a gate. A gate that is not there any more has room for all.
WITH RECURSIVE awaited (gate) AS (
    SELECT min(waits_for) FROM runs WHERE state = 'held' AND waits_for IS NOT NULL
    UNION ALL
    SELECT (SELECT min(h.waits_for) FROM runs AS h WHERE h.state = 'held' AND h.waits_for > a.gate) FROM awaited AS a WHERE a.gate IS NOT NULL
)
SELECT a.gate, g.most - (SELECT count(*) FROM gate_places AS p WHERE p.gate = a.gate) AS room
FROM awaited AS a
LEFT JOIN gates AS g ON g.gate = a.gate
WHERE
    a.gate IS NOT NULL AND (
        g.gate IS NULL
        OR (g.refill_ms IS NULL AND (g.most IS NULL OR g.most > (SELECT count(*) FROM gate_places AS p WHERE p.gate = a.gate)))
    )
LIMIT ?1;

-- name: forget
-- Gates that nobody has come to for a while, and where nothing is to be remembered. Those of jobs that were changed are kept for longer.
DELETE FROM gates
WHERE gate IN (
    SELECT g.gate
    FROM gates AS g
    WHERE
        g.seen_ms < now_ms() - CASE WHEN g.scope = 'job' AND g.as_of > 1 THEN ?3 ELSE ?1 END AND g.refill_ms IS NULL AND g.full_us < now_ms() * 1000
        AND NOT EXISTS (SELECT 1 FROM gate_places AS p WHERE p.gate = g.gate)
        AND NOT EXISTS (SELECT 1 FROM runs AS h WHERE h.waits_for = g.gate AND h.state = 'held')
    LIMIT ?2
)
RETURNING gate;

-- name: count_in
-- Runs under way when a limit is set have places from then on, as if they had passed. One of the three is given.
INSERT INTO gate_places (gate, run_id)
SELECT ?1, r.id
FROM runs AS r
WHERE r.state = 'running' AND r.worker IS NOT NULL AND r.due_ms <= now_ms() AND (r.queue = ?2 OR r.tenant = ?3 OR r.job_id = ?4)
ON CONFLICT DO NOTHING;
