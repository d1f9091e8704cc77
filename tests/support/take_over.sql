-- A clock that stands still in a table, and a store without rows.
-- Kept STABLE, as the real clock is: a statement sees one moment.
CREATE TABLE IF NOT EXISTS public.dueline_test_clock (ms bigint NOT NULL);
CREATE OR REPLACE FUNCTION dueline.now_ms() RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
AS 'SELECT ms FROM public.dueline_test_clock';

-- Far quicker than a new database for every test, and just as empty.
DO $body$
DECLARE
    filled regclass;
BEGIN
    FOR filled IN
        SELECT oid FROM pg_class
        WHERE
            relnamespace = 'dueline'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
            AND relname NOT IN ('migrations', 'shards')
    LOOP
        EXECUTE format('DELETE FROM %s', filled);
    END LOOP;
END
$body$;
UPDATE dueline.shards SET epoch = 0, owner = NULL, tzdata = '';
DELETE FROM public.dueline_test_clock;
