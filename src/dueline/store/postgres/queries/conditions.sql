-- name: server
-- The version, how much our database holds, and how many sessions there are in all databases.
SELECT
    split_part(version(), ' ', 2), pg_database_size(current_database()),
    (SELECT count(*) FROM pg_stat_get_activity(NULL) AS a WHERE a.datid IS NOT NULL);

-- name: settings
-- As they are for a session of ours: a database and an account may have their own.
SELECT name, setting FROM pg_settings WHERE name = ANY($1::text[]);

-- name: oldest_snapshot
-- Who has held a view of the data for longest, our own session apart. Of other accounts only those see it who may.
SELECT
    extract(EPOCH FROM clock_timestamp() - a.xact_start)::double precision,
    concat('process ', a.pid, ' of ', pg_get_userbyid(a.usesysid), ' (', a.application_name, ')')
FROM pg_stat_get_activity(NULL) AS a
WHERE a.backend_xmin IS NOT NULL AND a.xact_start IS NOT NULL AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
ORDER BY a.xact_start
LIMIT 1;
