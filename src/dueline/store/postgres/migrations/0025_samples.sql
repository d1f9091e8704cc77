-- Small samples for the statistics of tables that grow all the time. While a sample is read what was there before it began can still be seen by it,
-- so what lines leave behind cannot be cleared away, and every claim passes over it: of thirty thousand rows for seconds, once a minute.
-- A tenth of that tells as much about these.
CREATE FUNCTION dueline.sample_little(relation regclass) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    one name;
BEGIN
    FOR one IN SELECT attname FROM pg_attribute WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 10', relation, one);
    END LOOP;
END
$body$;

SELECT dueline.sample_little(inhrelid::regclass) FROM pg_inherits WHERE inhparent = 'dueline.history'::regclass;
SELECT dueline.sample_little('dueline.history');
SELECT dueline.sample_little('dueline.runs');
SELECT dueline.sample_little('dueline.changes');
-- Nobody asks by these, and they lie apart from their rows.
ALTER TABLE dueline.changes ALTER COLUMN ids SET STATISTICS 0, ALTER COLUMN versions SET STATISTICS 0;

CREATE OR REPLACE FUNCTION dueline.add_history_day(day_ms bigint) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    partition text := 'history_' || to_char(to_timestamp(day_ms / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD');
    low text := lpad(to_hex(day_ms), 12, '0') || repeat('0', 20);
    high text := lpad(to_hex(day_ms + 86400000), 12, '0') || repeat('0', 20);
BEGIN
    -- Several processes make room at the same time; the number is the letters of "history".
    PERFORM pg_advisory_xact_lock(29389342173524601);
    IF to_regclass('dueline.' || partition) IS NULL THEN
        EXECUTE format('CREATE TABLE dueline.%I (LIKE dueline.history INCLUDING DEFAULTS)', partition);
        PERFORM dueline.sample_little(to_regclass('dueline.' || partition));
        -- Attaching, unlike creating in place, does not lock out readers and writers of the other days.
        EXECUTE format('ALTER TABLE dueline.history ATTACH PARTITION dueline.%I FOR VALUES FROM (%L) TO (%L)', partition, low, high);
    END IF;
END
$body$;
