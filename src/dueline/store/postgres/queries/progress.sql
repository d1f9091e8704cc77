-- name: save
-- What runs under way tell of themselves; what they do not tell anew stays. The lock, taken in the order of the ids as everywhere, keeps
-- a run with its owner until this is written: a worker that lost it cannot overwrite what the next one tells.
WITH owned AS MATERIALIZED (
    SELECT r.id, s.checkpoint, s.progress, s.note
    FROM ROWS FROM (
        unnest($1::uuid[], $2::bigint[], $3::text[], $4::double precision[], $5::text[]), generate_subscripts($1::uuid[], 1)
    ) AS s (id, token, checkpoint, progress, note)
    JOIN dueline.runs AS r ON r.id = s.id AND r.token = s.token AND r.state = 'running' AND r.id = ANY($1::uuid[])
    ORDER BY r.id
    FOR SHARE OF r
)
INSERT INTO dueline.run_progress AS p (run_id, checkpoint, progress, note, updated_ms)
SELECT id, checkpoint, progress, note, dueline.now_ms() FROM owned
ON CONFLICT (run_id) DO UPDATE
SET
    checkpoint = coalesce(excluded.checkpoint, p.checkpoint), progress = coalesce(excluded.progress, p.progress),
    note = coalesce(excluded.note, p.note), updated_ms = excluded.updated_ms
RETURNING run_id;

-- name: of
-- What live runs told of themselves.
SELECT p.run_id, p.checkpoint, p.progress, p.note, p.updated_ms
FROM dueline.run_progress AS p
WHERE p.run_id = ANY($1::uuid[]) AND (SELECT true FROM dueline.runs AS r WHERE r.id = p.run_id);

-- name: sweep
-- Looks at some rows above an id, in order, and deletes those whose run is not live; answers what it looked at. Each run is asked for by
-- its id, whatever the planner thinks: so a pass costs the same however many runs there are, and runs pay nothing when they end.
WITH looked AS MATERIALIZED (
    SELECT run_id FROM dueline.run_progress WHERE run_id > $1 ORDER BY run_id LIMIT $2
), swept AS (
    DELETE FROM dueline.run_progress
    WHERE run_id = ANY(ARRAY(
        SELECT l.run_id FROM looked AS l WHERE (SELECT r.id FROM dueline.runs AS r WHERE r.id = l.run_id) IS NULL
    ))
)
SELECT run_id FROM looked ORDER BY run_id;
