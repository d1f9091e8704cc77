-- name: due
-- Plans to act on: one bounded index scan per shard, each for its share of the page.
SELECT p.job_id, p.shard, p.version, p.generation, p.next_ms
FROM unnest($1::smallint[]) AS s (shard)
CROSS JOIN LATERAL (
    SELECT job_id, shard, version, generation, next_ms
    FROM dueline.plans
    WHERE shard = s.shard AND due_ms >= $2 AND due_ms <= $3
    ORDER BY due_ms
    LIMIT greatest($4::bigint / greatest(cardinality($1::smallint[]), 1), 1)
) AS p;

-- name: fire
-- move: fire
-- Write runs and move schedules, for those shards whose epoch is still the caller's. The shared lock makes a taker wait until we are
-- done, and makes us see its epoch if it came first. An occurrence that ran before, live or finished, is not written again.
WITH owned AS MATERIALIZED (
    SELECT s.shard
    FROM dueline.shards AS s
    JOIN unnest($1::smallint[], $2::bigint[]) AS e (shard, epoch) ON s.shard = e.shard AND s.epoch = e.epoch
    FOR SHARE OF s
), firing AS MATERIALIZED (
    SELECT f.*
    FROM unnest($3::uuid[], $4::smallint[], $5::integer[], $6::bigint[], $7::bigint[]) AS f (job_id, shard, generation, next_ms, following_ms)
    WHERE f.shard IN (SELECT shard FROM owned)
), moved AS (
    UPDATE dueline.plans AS p
    SET next_ms = f.following_ms, due_ms = f.following_ms
    FROM firing AS f
    WHERE
        f.following_ms IS NOT NULL
        AND p.job_id = f.job_id AND p.generation = f.generation AND p.next_ms = f.next_ms AND p.due_ms IS NOT NULL
    RETURNING p.job_id
), exhausted AS (
    DELETE FROM dueline.plans AS p
    USING firing AS f
    WHERE
        f.following_ms IS NULL
        AND p.job_id = f.job_id AND p.generation = f.generation AND p.next_ms = f.next_ms AND p.due_ms IS NOT NULL
    RETURNING p.job_id
), finished AS (
    UPDATE dueline.jobs AS j
    SET state = 'finished', updated_ms = dueline.now_ms()
    FROM exhausted AS x
    WHERE j.id = x.job_id AND j.state = 'active'
), fired AS (
    SELECT job_id FROM moved UNION ALL SELECT job_id FROM exhausted
), written AS (
    INSERT INTO dueline.runs (
        id, job_id, version, tenant, kind, state, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms,
        created_ms, token, attempt, lost, tags, attempts
    )
    SELECT
        r.id, r.job_id, r.version, r.tenant, r.kind, 'ready', r.queue, r.priority, r.rank, r.region, r.exclusive, r.timeout_ms,
        r.scheduled_ms, r.due_ms, dueline.now_ms(), r.token, 0, 0, string_to_array(r.tags, E'\x1f'), ''
    FROM unnest(
        $8::uuid[], $9::uuid[], $10::integer[], $11::text[], $12::text[], $13::text[], $14::smallint[], $15::bigint[], $16::text[],
        $17::boolean[], $18::integer[], $19::bigint[], $20::bigint[], $21::text[], $22::bigint[]
    ) AS r (
        id, job_id, version, tenant, kind, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms, tags, token
    )
    JOIN fired USING (job_id)
    WHERE NOT EXISTS (SELECT FROM dueline.history AS h WHERE h.id = r.id)
    ON CONFLICT (id) DO NOTHING
)
SELECT job_id FROM fired;
