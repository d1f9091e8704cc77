-- name: publish
-- What a worker can carry out, seen now; `forget` follows.
INSERT INTO job_types (name, queue, description, parameters, seen_ms)
SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, now_ms() FROM jsonb_each(?1) WHERE true
ON CONFLICT (name) DO UPDATE
SET
    queue = excluded.queue, description = excluded.description, parameters = excluded.parameters, seen_ms = excluded.seen_ms;

-- name: forget
-- Those that nobody said to have for some time.
DELETE FROM job_types WHERE seen_ms < now_ms() - ?1;

-- name: list
SELECT name, queue, description, parameters, seen_ms FROM job_types ORDER BY name;
