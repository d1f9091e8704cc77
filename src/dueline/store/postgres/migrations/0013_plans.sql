-- Plans that an empty table cannot spoil. A table that was vacuumed while it was empty is taken for empty, and stays so in the plans of whoever
-- planned then: a join with what was given may read all of an index, because it is thought to have one entry. Here, as in the statements
-- beside it, the ids that were given are said twice, so that no way to the rows is without them; and the subscripts are there to have the
-- planner expect a thousand, and compare by hashes instead of each with each. Otherwise the functions are as they were.

CREATE OR REPLACE FUNCTION dueline.stand_at(
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

CREATE OR REPLACE FUNCTION dueline.leave_gates(run_ids uuid[]) RETURNS TABLE (queue text) LANGUAGE plpgsql AS $body$
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
        CROSS JOIN LATERAL (
            SELECT FROM dueline.gates AS o WHERE o.gate = f.gate AND o.most IS NOT NULL AND o.refill_ms IS NULL OFFSET 0
        ) AS g
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

CREATE OR REPLACE FUNCTION dueline.drop_history_day(day_ms bigint, ended_ms bigint, moved_max integer) RETURNS boolean
LANGUAGE plpgsql AS $body$
DECLARE
    partition text := 'history_' || to_char(to_timestamp(day_ms / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD');
    low uuid := lpad(to_hex(day_ms), 12, '0') || repeat('0', 20);
    high uuid := lpad(to_hex(day_ms + 86400000), 12, '0') || repeat('0', 20);
    kept integer;
BEGIN
    -- One at a time, and not while somebody makes room for the days to come.
    PERFORM pg_advisory_xact_lock(29389342173524601);
    IF to_regclass('dueline.' || partition) IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('SELECT count(*) FROM (SELECT FROM dueline.%I WHERE finished_ms >= $1 LIMIT $2) AS kept', partition)
    INTO kept USING ended_ms, moved_max + 1;
    IF kept > moved_max THEN
        RETURN false;
    END IF;
    -- Before history is locked, as in whatever redrives them; in the order of the ids, as everywhere.
    DELETE FROM dueline.dead_letters
    WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM dueline.dead_letters
        WHERE run_id >= low AND run_id < high AND failed_ms < ended_ms
        ORDER BY run_id
        FOR UPDATE
    ));
    -- From here to the commit nobody reads or writes history; there is no other way beside a partition for all other days.
    EXECUTE format('ALTER TABLE dueline.history DETACH PARTITION dueline.%I', partition);
    EXECUTE format('INSERT INTO dueline.history SELECT * FROM dueline.%I WHERE finished_ms >= $1', partition) USING ended_ms;
    EXECUTE format('DROP TABLE dueline.%I', partition);
    RETURN true;
END
$body$;
