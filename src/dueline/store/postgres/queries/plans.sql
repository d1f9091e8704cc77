-- name: due
-- Plans to act on: one bounded index scan per shard, each for its share of the page.
SELECT p.job_id, p.shard, p.version, p.generation, p.next_ms, p.runs_left
FROM unnest($1::smallint[]) AS s (shard)
CROSS JOIN LATERAL (
    SELECT job_id, shard, version, generation, next_ms, runs_left
    FROM dueline.plans
    WHERE shard = s.shard AND due_ms >= $2 AND due_ms <= $3
    ORDER BY due_ms
    LIMIT greatest($4::bigint / greatest(cardinality($1::smallint[]), 1), 1)
) AS p;

-- name: crowds
-- Seconds in which many plans are to be acted on: one index scan per shard.
SELECT p.second_ms, count(*) AS plans
FROM unnest($1::smallint[]) AS s (shard)
CROSS JOIN LATERAL (
    SELECT due_ms / 1000 * 1000 AS second_ms FROM dueline.plans WHERE shard = s.shard AND due_ms >= $2 AND due_ms < $3 OFFSET 0
) AS p
GROUP BY p.second_ms
HAVING count(*) >= $4;

-- name: next_due
-- When there is something to do next: the first entry of every shard, of the runs that wait, and of those who wait for tokens.
SELECT least(
    (
        SELECT min(p.due_ms)
        FROM dueline.shards AS s
        CROSS JOIN LATERAL (
            SELECT due_ms FROM dueline.plans WHERE shard = s.shard AND due_ms IS NOT NULL ORDER BY due_ms LIMIT 1
        ) AS p
    ),
    (SELECT due_ms FROM dueline.runs WHERE state IN ('scheduled', 'retrying') ORDER BY due_ms LIMIT 1),
    (SELECT refill_ms FROM dueline.gates WHERE refill_ms IS NOT NULL ORDER BY refill_ms LIMIT 1)
);

-- name: fire
-- move: fire
-- Write runs and move schedules, for those shards whose epoch is still the caller's. The shared lock makes a taker wait until we are
-- done, and makes us see its epoch if it came first. An occurrence that ran before, live or finished, is not written again; a run that
-- is not due soon waits outside the ready queue. What became no runs is told, which is rare. The clock is asked in a SELECT, once and not
-- for every row, and so is what all runs have in common.
WITH owned AS MATERIALIZED (
    SELECT s.shard
    FROM dueline.shards AS s
    JOIN unnest($1::smallint[], $2::bigint[]) AS e (shard, epoch) ON s.shard = e.shard AND s.epoch = e.epoch
    FOR SHARE OF s
), firing AS MATERIALIZED (
    SELECT f.*, f.following_ms IS NULL AND f.awaiting IS NULL AS last
    FROM ROWS FROM (
        unnest($3::uuid[], $4::smallint[], $5::integer[], $6::bigint[], $7::bigint[], $8::bigint[], $9::uuid[], $10::integer[]),
        generate_subscripts($3::uuid[], 1)
    ) AS f (job_id, shard, generation, next_ms, following_ms, due_ms, awaiting, runs_left)
    WHERE (f.shard IN (SELECT shard FROM owned)) IS TRUE
), moved AS (
    UPDATE dueline.plans AS p
    SET next_ms = f.following_ms, due_ms = f.due_ms, awaiting = f.awaiting, runs_left = f.runs_left
    FROM firing AS f
    WHERE
        NOT f.last
        AND p.job_id = f.job_id AND p.generation = f.generation AND p.next_ms = f.next_ms AND (p.due_ms IS NOT NULL) IS TRUE
        AND p.job_id = ANY($3::uuid[])
    RETURNING p.job_id
), exhausted AS (
    DELETE FROM dueline.plans AS p
    USING firing AS f
    WHERE
        f.last
        AND p.job_id = f.job_id AND p.generation = f.generation AND p.next_ms = f.next_ms AND (p.due_ms IS NOT NULL) IS TRUE
        AND p.job_id = ANY($3::uuid[])
    RETURNING p.job_id
), finished AS (
    UPDATE dueline.jobs AS j
    SET state = 'finished', updated_ms = dueline.now_ms()
    WHERE j.id = ANY(ARRAY(SELECT job_id FROM exhausted)) AND j.state = 'active'
    RETURNING j.id, j.version
), announced AS (
    INSERT INTO dueline.changes (at_ms, told, ids, versions)
    SELECT dueline.now_ms(), 'finished', array_agg(id), array_agg(version) FROM finished HAVING count(*) > 0
), fired AS (
    SELECT job_id FROM moved UNION ALL SELECT job_id FROM exhausted
), written AS (
    INSERT INTO dueline.runs (
        id, job_id, version, tenant, kind, state, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms,
        created_ms, token, attempt, lost, tags, attempts, overlap, lane, expires_ms, fairness_key, missed, notifies
    )
    SELECT
        r.id, r.job_id, r.version, coalesce(r.tenant, (SELECT ($17::text[])[1])), coalesce(r.kind, (SELECT ($18::text[])[1])),
        CASE
            WHEN r.rank IS NULL OR coalesce(r.due_ms, (SELECT ($26::bigint[])[1])) > (SELECT dueline.now_ms()) + $11 THEN 'scheduled'
            ELSE 'ready'
        END,
        coalesce(r.queue, (SELECT ($19::text[])[1])), coalesce(r.priority, (SELECT ($20::smallint[])[1])), coalesce(r.rank, 0),
        coalesce(r.region, (SELECT ($22::text[])[1])), coalesce(r.exclusive, (SELECT ($23::boolean[])[1])),
        coalesce(r.timeout_ms, (SELECT ($24::integer[])[1])), coalesce(r.scheduled_ms, (SELECT ($25::bigint[])[1])),
        coalesce(r.due_ms, (SELECT ($26::bigint[])[1])), (SELECT dueline.now_ms()), coalesce(r.token, (SELECT ($28::bigint[])[1])), 0, 0,
        coalesce(string_to_array(r.tags, E'\x1f'), (SELECT string_to_array(($27::text[])[1], E'\x1f'))), '', r.overlap,
        coalesce(r.lane, (SELECT ($29::text[])[1])), r.expires_ms, r.fairness_key, r.missed, r.notifies
    FROM unnest(
        $14::uuid[], $15::uuid[], $16::integer[], $17::text[], $18::text[], $19::text[], $20::smallint[], $21::bigint[], $22::text[],
        $23::boolean[], $24::integer[], $25::bigint[], $26::bigint[], $27::text[], $28::bigint[], $29::text[], $30::text[],
        $31::bigint[], $32::text[], $33::boolean[], $40::boolean[]
    ) AS r (
        id, job_id, version, tenant, kind, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms, tags, token,
        lane, overlap, expires_ms, fairness_key, missed, notifies
    )
    -- Both are asked of each: as joins they may have been planned while there was no history, and read all of it. As a rule nothing between
    -- the first and the last id is finished.
    WHERE
        (r.job_id IN (SELECT job_id FROM fired)) IS TRUE
        AND (
            NOT EXISTS (SELECT FROM dueline.history AS h WHERE h.id BETWEEN $12 AND $13)
            OR (SELECT true FROM dueline.history AS h WHERE h.id = r.id) IS NOT TRUE
        )
    -- unless new:
    ON CONFLICT (id) DO NOTHING
    -- :unless new
    RETURNING state
), told AS (
    INSERT INTO dueline.ledger (job_id, from_ms, to_ms, version, verdict, reason)
    SELECT u.job_id, u.from_ms, u.to_ms, u.version, u.verdict, u.reason
    FROM unnest($34::uuid[], $35::bigint[], $36::bigint[], $37::integer[], $38::text[], $39::text[])
        AS u (job_id, from_ms, to_ms, version, verdict, reason)
    JOIN fired USING (job_id)
    ON CONFLICT DO NOTHING
)
SELECT job_id, EXISTS (SELECT FROM written WHERE state = 'scheduled') AS waiting FROM fired;

-- name: lock_awaiting
-- Before runs end: lock the plans that await them, ahead of the runs as everywhere, so that they can `follow`. Which run a plan awaits
-- is written together with the run, so a plan that awaits none of these now will not begin to. They are found by that, and locked by
-- their ids: asked for in order at once, a planner that expects none walks all plans in that order.
SELECT job_id
FROM dueline.plans
WHERE job_id = ANY(ARRAY(SELECT job_id FROM dueline.plans WHERE awaiting = ANY($1::uuid[]))) AND awaiting = ANY($1::uuid[])
ORDER BY job_id
FOR NO KEY UPDATE;

-- name: follow
-- Schedules that await the end of these runs go on from it. A paused job gets the occurrence, and nothing to act on.
UPDATE dueline.plans AS p
SET
    next_ms = e.ended_ms + p.delay_ms, awaiting = NULL,
    due_ms = CASE (SELECT j.state FROM dueline.jobs AS j WHERE j.id = p.job_id) WHEN 'active' THEN e.ended_ms + p.delay_ms END
FROM ROWS FROM (unnest($1::uuid[], $2::uuid[], $3::bigint[]), generate_subscripts($1::uuid[], 1)) AS e (run_id, job_id, ended_ms)
WHERE p.job_id = e.job_id AND p.awaiting = e.run_id AND p.job_id = ANY($2::uuid[]) AND p.awaiting = ANY($1::uuid[])
RETURNING p.job_id;

-- name: follow_lost
-- Schedules that await a run which is not live go on from now.
UPDATE dueline.plans AS p
SET
    next_ms = dueline.now_ms() + p.delay_ms, awaiting = NULL,
    due_ms = CASE (SELECT j.state FROM dueline.jobs AS j WHERE j.id = p.job_id) WHEN 'active' THEN dueline.now_ms() + p.delay_ms END
WHERE p.awaiting IS NOT NULL AND (SELECT true FROM dueline.runs AS r WHERE r.id = p.awaiting) IS NOT TRUE
RETURNING p.job_id;

-- name: stale
-- Plans that must be looked at again.
SELECT j.tenant, p.job_id
FROM (SELECT job_id FROM dueline.plans WHERE stale AND shard = ANY($1::smallint[]) LIMIT $2) AS p
CROSS JOIN LATERAL (SELECT tenant FROM dueline.jobs WHERE id = p.job_id OFFSET 0) AS j;

-- name: older_zones
-- Shards whose plans were made by older rules of the time zones, if they are still the caller's: as a rule none.
SELECT s.shard, s.epoch
FROM dueline.shards AS s
JOIN unnest($1::smallint[], $2::bigint[]) AS t (shard, epoch) ON s.shard = t.shard AND s.epoch = t.epoch
WHERE s.tzdata < $3
ORDER BY s.shard;

-- name: zoned
-- A page of all plans behind an id, in their order: where it ends, and which of them, of some shards, depend on a time zone. An index would
-- cost every firing of such a plan; this reads all of them instead, once for new rules.
WITH page AS MATERIALIZED (
    SELECT job_id, shard, zoned AND NOT stale AS wanted FROM dueline.plans WHERE job_id > $1 ORDER BY job_id LIMIT $3
)
SELECT
    (SELECT job_id FROM page ORDER BY job_id DESC LIMIT 1) AS last,
    ARRAY(SELECT job_id FROM page WHERE wanted AND shard = ANY($2::smallint[])) AS job_ids;

-- name: lock_shards
-- Some shards, if they are still the caller's: until the end of the transaction nothing of them is fired.
SELECT s.shard
FROM dueline.shards AS s
JOIN unnest($1::smallint[], $2::bigint[]) AS t (shard, epoch) ON s.shard = t.shard AND s.epoch = t.epoch
ORDER BY s.shard
FOR UPDATE OF s;

-- name: spoil_zoned
-- These plans must be looked at again, if they are of these shards.
UPDATE dueline.plans SET stale = true
WHERE job_id = ANY($1::uuid[]) AND shard = ANY($2::smallint[])
RETURNING job_id;

-- name: adopt_zones
-- Some of these shards, if they still are both, whose plans have all been looked at.
UPDATE dueline.shards AS s
SET tzdata = $3
FROM unnest($1::smallint[], $2::bigint[]) AS t (shard, epoch)
WHERE s.shard = t.shard AND s.epoch = t.epoch AND s.tzdata < $3
RETURNING s.shard;
