-- name: look
-- What matters of a level: its line's virtual time, whether the line was looked at before, the tenant's weight, how many keys of the level
-- wait, and how many of those are among the given ones. The virtual time is where the first ready run stands, but for those that came back
-- from before the line. Where none is ready nobody owes anything, so it is where the last one ended. What the priorities are worth is given,
-- and the most of it.
WITH line AS MATERIALIZED (
    SELECT
        own.finish IS NOT NULL AS known,
        max(
            coalesce(own.finish, 0),
            coalesce(
                (
                    SELECT rank + (?6 ->> priority) FROM runs
                    WHERE queue = ?1 AND lane = ?2 AND state = 'ready' AND rank >= own.finish - ?8
                    ORDER BY rank, id
                    LIMIT 1
                ),
                (SELECT max(finish) FROM flows WHERE queue = ?1 AND lane = ?2 AND level <> ''),
                0
            )
        ) AS clock
    FROM (
        SELECT (SELECT finish FROM flows WHERE queue = ?1 AND lane = ?2 AND tenant = '' AND level = '' AND key = '') AS finish
    ) AS own
)
SELECT
    line.clock, line.known, coalesce((SELECT weight FROM tenants WHERE tenant = ?3), 1.0) AS weight,
    (
        SELECT count(*)
        FROM (
            SELECT 1 FROM flows
            WHERE queue = ?1 AND lane = ?2 AND tenant = ?3 AND level = ?4 AND finish > line.clock
            LIMIT ?7
        )
    ) AS waiting,
    (
        SELECT count(*)
        FROM json_each(?5) AS k
        CROSS JOIN flows AS f ON f.queue = ?1 AND f.lane = ?2 AND f.tenant = ?3 AND f.level = ?4 AND f.key = k.value
        WHERE f.finish > line.clock
    ) AS given
FROM line;

-- name: reserve
-- Flows go on by what their runs take, from where they were or from what is given, whichever is later. The answer says to where.
INSERT INTO flows (queue, lane, tenant, level, key, finish, added)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6
FROM jsonb_each(?1)
WHERE true
ON CONFLICT (queue, lane, tenant, level, key) DO UPDATE
SET finish = max(flows.finish + excluded.added, excluded.finish), added = excluded.added
RETURNING queue, lane, tenant, level, key, finish;

-- name: rebuild
-- What waits in a line that was never looked at, or whose flows were lost: learnt from its ready runs, as if each had taken one turn. The
-- names of the standings are given, and what a missed run stands behind others. A line in which nothing is ready begins at the time of day,
-- which ranks were once: processes of an earlier release may still write some.
INSERT INTO flows (queue, lane, tenant, level, key, finish, added)
SELECT
    ?1, ?2, '', '', '',
    CASE WHEN EXISTS (SELECT 1 FROM runs WHERE queue = ?1 AND lane = ?2 AND state = 'ready') THEN 0 ELSE now_ms() END, 0
UNION ALL
SELECT ?1, ?2, tenant, priority || standing, key, max(finish), 0
FROM (
    SELECT
        tenant, priority, coalesce(fairness_key, '') AS key,
        CASE WHEN attempt > 0 THEN ?5 WHEN missed THEN ?6 ELSE ?4 END AS standing,
        rank + (?3 ->> priority) - CASE WHEN attempt = 0 AND missed THEN ?7 ELSE 0 END + ?8 AS finish
    FROM runs
    WHERE queue = ?1 AND lane = ?2 AND state = 'ready'
)
GROUP BY tenant, priority, standing, key
ON CONFLICT (queue, lane, tenant, level, key) DO UPDATE SET finish = max(flows.finish, excluded.finish);

-- name: clocks
-- Every line in which something may wait, and its virtual time: a walk over the index that looks at one entry a line.
WITH RECURSIVE
found (queue) AS (
    SELECT min(queue) FROM flows WHERE level <> ''
    UNION ALL
    SELECT (SELECT min(f.queue) FROM flows AS f WHERE f.level <> '' AND f.queue > found.queue)
    FROM found
    WHERE found.queue IS NOT NULL
),
pairs (queue, lane) AS (
    SELECT found.queue, (SELECT min(f.lane) FROM flows AS f WHERE f.level <> '' AND f.queue = found.queue)
    FROM found
    WHERE found.queue IS NOT NULL
    UNION ALL
    SELECT p.queue, (SELECT min(f.lane) FROM flows AS f WHERE f.level <> '' AND f.queue = p.queue AND f.lane > p.lane)
    FROM pairs AS p
    WHERE p.lane IS NOT NULL
)
SELECT
    p.queue, p.lane,
    max(
        p.own,
        coalesce(
            (
                SELECT r.rank + (?1 ->> r.priority) FROM runs AS r
                WHERE r.queue = p.queue AND r.lane = p.lane AND r.state = 'ready' AND r.rank >= p.own - ?2
                ORDER BY r.rank, r.id
                LIMIT 1
            ),
            (SELECT max(f.finish) FROM flows AS f WHERE f.queue = p.queue AND f.lane = p.lane AND f.level <> '')
        )
    ) AS clock
FROM (
    SELECT
        queue, lane,
        coalesce(
            (
                SELECT o.finish FROM flows AS o
                WHERE o.queue = pairs.queue AND o.lane = pairs.lane AND o.tenant = '' AND o.level = '' AND o.key = ''
            ),
            0
        ) AS own
    FROM pairs
    WHERE lane IS NOT NULL
) AS p;

-- name: forget
-- Flows whose runs have all had their turn.
DELETE FROM flows
WHERE (queue, lane, tenant, level, key) IN (
    SELECT f.queue, f.lane, f.tenant, f.level, f.key
    FROM jsonb_each(?1) AS l
    CROSS JOIN flows AS f INDEXED BY flows_finish ON f.queue = l.value ->> 0 AND f.lane = l.value ->> 1 AND f.finish <= l.value ->> 2
    WHERE f.level <> ''
    LIMIT ?2
)
RETURNING key;
