-- name: publish
-- What a worker can carry out, seen now. Given in the order of the names: of two who publish the same ones, the second waits, and never
-- the first for the second. `forget` follows.
INSERT INTO dueline.job_types (name, queue, description, parameters, seen_ms)
SELECT t.*, dueline.now_ms() FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS t
ON CONFLICT (name) DO UPDATE
SET
    queue = excluded.queue, description = excluded.description, parameters = excluded.parameters, seen_ms = excluded.seen_ms;

-- name: forget
-- Those that nobody said to have for some time. It waits for nobody, since it may hold what others want: whoever has a type locked is
-- publishing it, or forgetting it too.
DELETE FROM dueline.job_types
WHERE name = ANY(ARRAY(
    SELECT name FROM dueline.job_types WHERE seen_ms < dueline.now_ms() - $1::bigint FOR UPDATE SKIP LOCKED
));

-- name: list
SELECT name, queue, description, parameters, seen_ms FROM dueline.job_types ORDER BY name;
