-- name: take
-- What `allot` says of the runs of some flows that are due soon, and the flows go on by it: one question, because whoever writes a single
-- run waits for the answer. Flows are given with the factors of their levels; runs with the numbers of their flows, how many of one flow are
-- due when. The answer says to where each flow went, by how much, and when; and of lines that nobody looked at before, that they are to be
-- rebuilt, in which case nothing was taken.
-- The virtual time of a line is where its first ready run stands, but for those that came back from before the line: $16 is the most that a
-- priority is worth. Where none is ready nobody owes anything, so it is where the last one ended; of flows that got something a moment ago the runs may not be there yet, so what they got is left out. What the priorities are
-- worth is given, from the lowest. Each LIMIT 1 keeps to one entry of an index where a join could read all flows. Whoever writes runs of a
-- flow must not wait for others to do so: this commits by itself, ahead of the runs, and does not wait for the disk. Locks are taken in the
-- order of the key.
WITH quick AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS set
), asked AS MATERIALIZED (
    SELECT a.*, w.runs
    FROM (
        SELECT d.flow, sum(d.runs)::bigint AS runs
        FROM unnest($7::integer[], $8::bigint[], $9::bigint[]) AS d (flow, due_ms, runs)
        WHERE d.due_ms <= dueline.now_ms() + $13
        GROUP BY d.flow
    ) AS w
    JOIN unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::double precision[])
        WITH ORDINALITY AS a (queue, lane, tenant, level, key, factor, flow) ON a.flow = w.flow
), lines AS MATERIALIZED (
    SELECT
        a.queue, a.lane, own.finish IS NOT NULL AS known,
        greatest(own.finish, coalesce(head.start, tail.finish, 0)) AS clock
    FROM (SELECT DISTINCT queue, lane FROM asked) AS a
    LEFT JOIN LATERAL (
        SELECT f.finish FROM dueline.flows AS f
        WHERE f.queue = a.queue AND f.lane = a.lane AND f.tenant = '' AND f.level = '' AND f.key = ''
        LIMIT 1
    ) AS own ON true
    LEFT JOIN LATERAL (
        SELECT r.rank + ($10::bigint[])[r.priority + 1] AS start
        FROM dueline.runs AS r
        WHERE r.queue = a.queue AND r.lane = a.lane AND r.state = 'ready' AND r.rank >= own.finish - $16
        ORDER BY r.rank, r.id
        LIMIT 1
    ) AS head ON true
    LEFT JOIN LATERAL (
        SELECT max(t.finish) AS finish
        FROM (
            SELECT f.finish - CASE WHEN f.reserved_ms > dueline.now_ms() - $11 THEN f.added ELSE 0 END AS finish
            FROM dueline.flows AS f
            WHERE f.queue = a.queue AND f.lane = a.lane AND f.level <> '' AND head.start IS NULL
            ORDER BY f.finish DESC
            LIMIT 100
        ) AS t
    ) AS tail ON true
), levels AS MATERIALIZED (
    SELECT
        d.*, l.clock, $14 / greatest(d.factor * coalesce(t.weight, 1), $15) AS turn,
        (
            SELECT count(*)
            FROM (
                SELECT FROM dueline.flows AS f
                WHERE f.queue = d.queue AND f.lane = d.lane AND f.tenant = d.tenant AND f.level = d.level AND f.finish > l.clock
                LIMIT $12 + cardinality(d.keys)
            ) AS w
        ) - (
            SELECT count(*)
            FROM unnest(d.keys) AS k (key)
            CROSS JOIN LATERAL (
                SELECT FROM dueline.flows AS f
                WHERE
                    f.queue = d.queue AND f.lane = d.lane AND f.tenant = d.tenant AND f.level = d.level AND f.key = k.key
                    AND f.finish > l.clock
                LIMIT 1
            ) AS w
        ) AS others
    FROM (
        SELECT queue, lane, tenant, level, factor, array_agg(key ORDER BY flow) AS keys, array_agg(runs ORDER BY flow) AS runs
        FROM asked
        GROUP BY queue, lane, tenant, level, factor
    ) AS d
    JOIN lines AS l ON l.queue = d.queue AND l.lane = d.lane
    LEFT JOIN dueline.tenants AS t ON t.tenant = d.tenant
    WHERE NOT EXISTS (SELECT FROM lines WHERE NOT known)
), taken AS (
    INSERT INTO dueline.flows AS f (queue, lane, tenant, level, key, finish, added, reserved_ms)
    SELECT w.queue, w.lane, w.tenant, w.level, w.key, w.start + w.added, w.added, dueline.now_ms()
    FROM quick
    CROSS JOIN (
        SELECT
            v.queue, v.lane, v.tenant, v.level, k.key, v.clock + floor(v.turn * (v.others + k.place - 1))::bigint AS start,
            greatest(floor(v.turn * (v.others + cardinality(v.keys)))::bigint, 1) * k.runs AS added
        FROM levels AS v
        CROSS JOIN LATERAL unnest(v.keys, v.runs) WITH ORDINALITY AS k (key, runs, place)
        WHERE v.others + cardinality(v.keys) <= $12
        UNION ALL
        SELECT
            v.queue, v.lane, v.tenant, v.level || '*', '', v.clock,
            greatest(floor(v.turn)::bigint, 1) * (SELECT sum(k.runs)::bigint FROM unnest(v.runs) AS k (runs))
        FROM levels AS v
        WHERE v.others + cardinality(v.keys) > 1
    ) AS w
    WHERE quick.set IS NOT NULL
    ORDER BY w.queue COLLATE "C", w.lane COLLATE "C", w.tenant COLLATE "C", w.level COLLATE "C", w.key COLLATE "C"
    ON CONFLICT (queue, lane, tenant, level, key) DO UPDATE
    SET finish = greatest(f.finish + excluded.added, excluded.finish), added = excluded.added, reserved_ms = excluded.reserved_ms
    RETURNING f.queue, f.lane, f.tenant, f.level, f.key, f.finish, f.added, f.reserved_ms
)
SELECT queue, lane, tenant, level, key, finish, added, reserved_ms FROM taken
UNION ALL
SELECT queue, lane, NULL, NULL, NULL, NULL, NULL, NULL FROM lines WHERE NOT known;

-- name: reserve
-- Flows go on by what is added, from where they were or from what is given, whichever is later: how lines learn how far they are. It need not
-- wait for the disk. Locks are taken in the order of the key.
WITH quick AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS set
)
INSERT INTO dueline.flows AS f (queue, lane, tenant, level, key, finish, added, reserved_ms)
SELECT w.queue, w.lane, w.tenant, w.level, w.key, w.finish, w.added, dueline.now_ms()
FROM quick
CROSS JOIN unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
    AS w (queue, lane, tenant, level, key, finish, added)
WHERE quick.set IS NOT NULL
ORDER BY w.queue COLLATE "C", w.lane COLLATE "C", w.tenant COLLATE "C", w.level COLLATE "C", w.key COLLATE "C"
ON CONFLICT (queue, lane, tenant, level, key) DO UPDATE
SET finish = greatest(f.finish + excluded.added, excluded.finish), added = excluded.added, reserved_ms = excluded.reserved_ms
RETURNING f.finish;

-- name: rebuild
-- What waits in lines that were never looked at, or whose flows were lost: learnt from their ready runs, as if each had taken one turn. The
-- names of the standings are given, and what a missed run stands behind others. A line in which nothing is ready begins at the time of day,
-- which ranks were once: processes of an earlier release may still write some.
INSERT INTO dueline.flows AS f (queue, lane, tenant, level, key, finish, added, reserved_ms)
SELECT b.queue, b.lane, b.tenant, b.level, b.key, max(b.finish), 0, 0
FROM (
    SELECT
        l.queue, l.lane, '' AS tenant, '' AS level, '' AS key,
        CASE
            WHEN (SELECT true FROM dueline.runs AS o WHERE o.queue = l.queue AND o.lane = l.lane AND o.state = 'ready' LIMIT 1) THEN 0
            ELSE dueline.now_ms()
        END AS finish
    FROM unnest($1::text[], $2::text[]) AS l (queue, lane)
    UNION ALL
    SELECT
        r.queue, r.lane, r.tenant, r.priority || CASE WHEN r.attempt > 0 THEN $5 WHEN r.missed THEN $6 ELSE $4 END,
        coalesce(r.fairness_key, ''),
        r.rank + ($3::bigint[])[r.priority + 1] - CASE WHEN r.attempt = 0 AND r.missed THEN $7 ELSE 0 END + $8
    FROM unnest($1::text[], $2::text[]) AS l (queue, lane)
    CROSS JOIN LATERAL (
        SELECT * FROM dueline.runs WHERE queue = l.queue AND lane = l.lane AND state = 'ready' OFFSET 0
    ) AS r
) AS b
GROUP BY b.queue, b.lane, b.tenant, b.level, b.key
ORDER BY b.queue COLLATE "C", b.lane COLLATE "C", b.tenant COLLATE "C", b.level COLLATE "C", b.key COLLATE "C"
ON CONFLICT (queue, lane, tenant, level, key) DO UPDATE SET finish = greatest(f.finish, excluded.finish);

-- name: clocks
-- Every line in which something may wait, and its virtual time: a walk over the index that looks at one entry a line.
WITH RECURSIVE found (queue, lane) AS (
    (SELECT queue, lane FROM dueline.flows WHERE level <> '' ORDER BY queue, lane LIMIT 1)
    UNION ALL
    SELECT n.queue, n.lane
    FROM found AS f
    CROSS JOIN LATERAL (
        SELECT o.queue, o.lane
        FROM dueline.flows AS o
        WHERE o.level <> '' AND (o.queue, o.lane) > (f.queue, f.lane)
        ORDER BY o.queue, o.lane
        LIMIT 1
    ) AS n
)
SELECT l.queue, l.lane, greatest(own.finish, coalesce(head.start, tail.finish)) AS clock
FROM found AS l
LEFT JOIN LATERAL (
    SELECT f.finish FROM dueline.flows AS f
    WHERE f.queue = l.queue AND f.lane = l.lane AND f.tenant = '' AND f.level = '' AND f.key = ''
    LIMIT 1
) AS own ON true
LEFT JOIN LATERAL (
    SELECT r.rank + ($1::bigint[])[r.priority + 1] AS start
    FROM dueline.runs AS r
    WHERE
        r.queue = l.queue COLLATE "default" AND r.lane = l.lane COLLATE "default" AND r.state = 'ready'
        AND r.rank >= coalesce(own.finish - $3, -9223372036854775808)
    ORDER BY r.rank, r.id
    LIMIT 1
) AS head ON true
LEFT JOIN LATERAL (
    SELECT max(t.finish) AS finish
    FROM (
        SELECT f.finish - CASE WHEN f.reserved_ms > dueline.now_ms() - $2 THEN f.added ELSE 0 END AS finish
        FROM dueline.flows AS f
        WHERE f.queue = l.queue AND f.lane = l.lane AND f.level <> '' AND head.start IS NULL
        ORDER BY f.finish DESC
        LIMIT 100
    ) AS t
) AS tail ON true;

-- name: forget
-- Flows whose runs have all had their turn, past whatever is locked. It need not wait for the disk.
WITH quick AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'off', true) AS set
)
DELETE FROM dueline.flows
WHERE ctid = ANY(ARRAY(
    SELECT p.place
    FROM quick
    CROSS JOIN unnest($1::text[], $2::text[], $3::bigint[]) AS l (queue, lane, clock)
    CROSS JOIN LATERAL (
        SELECT f.ctid AS place
        FROM dueline.flows AS f
        WHERE f.queue = l.queue AND f.lane = l.lane AND f.level <> '' AND f.finish <= l.clock
        ORDER BY f.finish
        LIMIT $4
        FOR UPDATE SKIP LOCKED
    ) AS p
    WHERE quick.set IS NOT NULL
    LIMIT $4
))
RETURNING key;
