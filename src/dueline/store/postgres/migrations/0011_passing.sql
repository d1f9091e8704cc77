-- Passing gates where there is room for all: as a rule there is, and then one question is enough.

-- Each statement has a snapshot of its own. Claims that still hold are locked, in the order of their ids, then the gates, in theirs, before
-- their places, as everywhere. The latest word on what a gate lets through counts: with another rate the bucket is empty at worst, and
-- those who wait for a token by the old one are looked at again. Where nobody has a new word nothing is written. Those who are about to pass
-- do not count: what they have of earlier times goes.
-- Ids that were given are said twice, and the subscripts make the planner expect many: see 0013.
-- Whoever says which places he wants gets them, if no gate has a rate and each has room for all: then the answer is the claims that hold,
-- without a gate. Otherwise nobody has passed, and it is the gates as they stand, and the claims without a scope.
DROP FUNCTION dueline.stand_at;
CREATE FUNCTION dueline.stand_at(
    run_ids uuid[], tokens bigint[],
    gate_ids uuid[], scopes text[], tenants text[], names text[], as_ofs bigint[], mosts integer[], intervals_us bigint[], bursts integer[],
    wanted_gates uuid[], wanted_runs uuid[]
) RETURNS TABLE (
    gate uuid, scope text, most integer, interval_us bigint, burst integer, full_us bigint, as_of bigint, taken bigint, moment_ms bigint
) LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE
    held uuid[] := ARRAY(
        SELECT r.id
        FROM ROWS FROM (unnest(run_ids, tokens), generate_subscripts(run_ids, 1)) AS w (id, token)
        JOIN dueline.runs AS r ON r.id = w.id AND r.token = w.token AND r.state = 'running' AND r.id = ANY(run_ids)
        ORDER BY r.id
        FOR NO KEY UPDATE OF r
    );
    known bigint := (
        SELECT count(*)
        FROM ROWS FROM (unnest(gate_ids, as_ofs, mosts, intervals_us, bursts), generate_subscripts(gate_ids, 1))
            AS w (gate, as_of, most, interval_us, burst)
        JOIN dueline.gates AS g ON g.gate = w.gate
        WHERE
            g.gate = ANY(gate_ids)
            AND g.seen_ms > dueline.now_ms() - 10000
            AND (
                g.as_of > w.as_of
                OR g.as_of = w.as_of AND (g.most, g.interval_us, g.burst) IS NOT DISTINCT FROM (w.most, w.interval_us, w.burst)
            )
    );
BEGIN
    IF known = cardinality(gate_ids) THEN
        PERFORM FROM dueline.gates AS g WHERE g.gate = ANY(gate_ids) ORDER BY g.gate FOR NO KEY UPDATE;
    ELSE
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
    END IF;
    DELETE FROM dueline.gate_places WHERE run_id = ANY(held);
    INSERT INTO dueline.gate_places (gate, run_id)
    SELECT w.gate, w.run_id
    FROM unnest(wanted_gates, wanted_runs) AS w (gate, run_id)
    WHERE
        w.run_id = ANY(held)
        AND NOT EXISTS (
            SELECT
            FROM (
                SELECT a.gate, count(*) AS asked
                FROM unnest(wanted_gates, wanted_runs) AS a (gate, run_id)
                WHERE a.run_id = ANY(held)
                GROUP BY a.gate
            ) AS a
            CROSS JOIN LATERAL (SELECT o.interval_us, o.most FROM dueline.gates AS o WHERE o.gate = a.gate OFFSET 0) AS g
            WHERE
                g.interval_us IS NOT NULL
                OR g.most < a.asked + (SELECT count(*) FROM dueline.gate_places AS p WHERE p.gate = a.gate)
        );
    IF FOUND THEN
        RETURN QUERY
        SELECT
            h.id, NULL::text, NULL::integer, NULL::bigint, NULL::integer, NULL::bigint, NULL::bigint, NULL::bigint, dueline.now_ms()
        FROM unnest(held) AS h (id);
        RETURN;
    END IF;
    RETURN QUERY
    SELECT
        g.gate, g.scope, g.most, g.interval_us, g.burst, g.full_us, g.as_of,
        (SELECT count(*) FROM dueline.gate_places AS p WHERE p.gate = g.gate), dueline.now_ms()
    FROM dueline.gates AS g
    WHERE g.gate = ANY(gate_ids)
    UNION ALL
    SELECT h.id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, dueline.now_ms() FROM unnest(held) AS h (id);
END
$body$;
