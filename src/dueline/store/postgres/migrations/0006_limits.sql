-- Limits: how many runs may be under way at once, and how many may start in a time.

-- The gate that a held run waits for, null where it waits for something else or not at all.
ALTER TABLE dueline.runs ADD COLUMN waits_for uuid;
-- Who is next at a gate.
CREATE INDEX runs_waits_for ON dueline.runs (waits_for, rank, id) WHERE state = 'held' AND waits_for IS NOT NULL;
-- Runs that wait for another of their job: those that wait at gates may be many, and are not looked at here.
DROP INDEX dueline.runs_held;
CREATE INDEX runs_held ON dueline.runs (job_id, id) WHERE state = 'held' AND waits_for IS NULL;

-- Gates that runs have come to, and what they let through by the latest word (as_of). full_us is when the bucket of the rate would be full
-- again, refill_ms when those who wait for a token should be looked at, null where nobody does. A row that nobody needs is forgotten.
CREATE TABLE dueline.gates (
    gate        uuid PRIMARY KEY,
    scope       text NOT NULL,
    tenant      text NOT NULL,
    name        text NOT NULL,
    as_of       bigint NOT NULL,
    most        integer,
    interval_us bigint,
    burst       integer NOT NULL,
    full_us     bigint NOT NULL,
    refill_ms   bigint,
    seen_ms     bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX gates_refill ON dueline.gates (refill_ms) WHERE refill_ms IS NOT NULL;

-- Which runs under way have passed which gates. A row here stands for a run, never for a count.
CREATE TABLE dueline.gate_places (
    gate   uuid NOT NULL,
    run_id uuid NOT NULL,
    PRIMARY KEY (gate, run_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX gate_places_run ON dueline.gate_places (run_id);

-- What is set for queues and hosts; what is set for jobs is in their definitions. A rate has all three of its fields, or none.
CREATE TABLE dueline.limits (
    scope       text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    most        integer,
    rate_count  integer,
    period_ms   bigint,
    burst       integer,
    updated_ms  bigint NOT NULL,
    PRIMARY KEY (scope, name)
);

-- What a tenant may have and do, as JSON; null where nothing was set.
ALTER TABLE dueline.tenants ADD COLUMN quotas text;

-- Passing gates, up to the moment in which it is decided who passes: one question instead of three, because asking costs more than answering.
-- Each statement has a snapshot of its own. Claims that still hold are locked, in the order of their ids, then the gates, in theirs, before
-- their places, as everywhere. The latest word on what a gate lets through counts: with another rate the bucket is empty at worst, and
-- those who wait for a token by the old one are looked at again. Those who are about to pass do not count: what they have of earlier times
-- goes. Answers the gates as they stand, and, without a scope, the claims that hold.
CREATE FUNCTION dueline.stand_at(
    run_ids uuid[], tokens bigint[],
    gate_ids uuid[], scopes text[], tenants text[], names text[], as_ofs bigint[], mosts integer[], intervals_us bigint[], bursts integer[]
) RETURNS TABLE (
    gate uuid, scope text, most integer, interval_us bigint, burst integer, full_us bigint, as_of bigint, taken bigint, moment_ms bigint
) LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE
    held uuid[] := ARRAY(
        SELECT r.id
        FROM unnest(run_ids, tokens) AS w (id, token)
        JOIN dueline.runs AS r ON r.id = w.id AND r.token = w.token AND r.state = 'running'
        ORDER BY r.id
        FOR NO KEY UPDATE OF r
    );
BEGIN
    INSERT INTO dueline.gates AS g (gate, scope, tenant, name, as_of, most, interval_us, burst, full_us, seen_ms)
    SELECT w.gate, w.scope, w.tenant, w.name, w.as_of, w.most, w.interval_us, w.burst, 0, dueline.now_ms()
    FROM unnest(gate_ids, scopes, tenants, names, as_ofs, mosts, intervals_us, bursts)
        AS w (gate, scope, tenant, name, as_of, most, interval_us, burst)
    ORDER BY w.gate
    ON CONFLICT (gate) DO UPDATE SET
        as_of = greatest(g.as_of, excluded.as_of),
        most = CASE WHEN excluded.as_of >= g.as_of THEN excluded.most ELSE g.most END,
        interval_us = CASE WHEN excluded.as_of >= g.as_of THEN excluded.interval_us ELSE g.interval_us END,
        burst = CASE WHEN excluded.as_of >= g.as_of THEN excluded.burst ELSE g.burst END,
        full_us = CASE
            WHEN excluded.as_of > g.as_of AND (excluded.interval_us, excluded.burst) IS DISTINCT FROM (g.interval_us, g.burst)
                THEN least(g.full_us, excluded.seen_ms * 1000 + excluded.burst * excluded.interval_us)
            ELSE g.full_us
        END,
        refill_ms = CASE WHEN excluded.as_of > g.as_of AND g.refill_ms IS NOT NULL THEN excluded.seen_ms ELSE g.refill_ms END,
        seen_ms = excluded.seen_ms;
    DELETE FROM dueline.gate_places WHERE run_id = ANY(held);
    RETURN QUERY
    SELECT
        g.gate, g.scope, g.most, g.interval_us, g.burst, g.full_us, g.as_of,
        (SELECT count(*) FROM dueline.gate_places AS p WHERE p.gate = g.gate), dueline.now_ms()
    FROM dueline.gates AS g
    WHERE g.gate = ANY(gate_ids)
    UNION ALL
    SELECT h.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM unnest(held) AS h (id);
END
$body$;

-- Runs that are not under way any more leave their places: the gates where they have some are locked, in order, before the places are
-- touched. Whoever was held there meanwhile is seen by the statement that follows, in which as many of those who wait become ready as places
-- were left; those who wait for a token are left to the promoter. Answers the queues to look into.
CREATE FUNCTION dueline.leave_gates(run_ids uuid[]) RETURNS TABLE (queue text) LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE
    locked uuid[] := ARRAY(
        SELECT g.gate
        FROM dueline.gates AS g
        WHERE g.gate = ANY(ARRAY(SELECT p.gate FROM dueline.gate_places AS p WHERE p.run_id = ANY(run_ids)))
        ORDER BY g.gate
        FOR NO KEY UPDATE
    );
BEGIN
    IF cardinality(locked) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    WITH left_places AS (
        DELETE FROM dueline.gate_places WHERE run_id = ANY(run_ids) RETURNING gate
    ), next AS MATERIALIZED (
        SELECT n.id
        FROM (SELECT gate, count(*) AS room FROM left_places GROUP BY gate) AS f
        JOIN dueline.gates AS g ON g.gate = f.gate AND g.most IS NOT NULL AND g.refill_ms IS NULL
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
    RETURN QUERY
    SELECT g.name FROM dueline.gates AS g WHERE g.gate = ANY(locked) AND g.scope = 'queue';
END
$body$;
