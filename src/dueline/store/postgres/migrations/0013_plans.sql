-- Plans that an empty table cannot spoil. A table that was vacuumed while it was empty is taken for empty, and stays so in the plans of whoever
-- planned then: a join with what was given may read all of an index, because it is thought to have one entry. Here, as in the statements
-- beside it, the ids that were given are said twice, so that no way to the rows is without them; and the subscripts are there to have the
-- planner expect a thousand, and compare by hashes instead of each with each. Otherwise the functions are as they were.

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
