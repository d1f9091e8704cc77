-- Quotas: how long finished runs are kept.

-- What is too old, in the order in which it ended: rows are added at the end of it.
CREATE INDEX history_finished ON dueline.history (finished_ms);

-- Up to when finished runs are gone: those of a tenant, or of all where it has no name.
CREATE TABLE dueline.history_sweeps (
    tenant   text COLLATE "C" PRIMARY KEY,
    swept_ms bigint NOT NULL
);

-- Drop the partition of a day of which next to nothing is to be kept; what ended since goes to the other days. Answers whether it did: it
-- leaves a day alone of which there is more than moved_max to keep. Whoever calls it says how long it may wait for its locks.
CREATE FUNCTION dueline.drop_history_day(day_ms bigint, ended_ms bigint, moved_max integer) RETURNS boolean
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
    WHERE run_id = ANY(ARRAY(
        SELECT run_id FROM dueline.dead_letters
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
