-- name: save
-- What runs tell of themselves, if they are under way by that token. What is not told stays as it was.
INSERT INTO run_progress (run_id, checkpoint, progress, note, updated_ms)
SELECT r.id, s.value ->> 2, s.value ->> 3, s.value ->> 4, now_ms()
FROM jsonb_each(?1) AS s
CROSS JOIN runs AS r ON r.id = unhex(s.value ->> 0)
WHERE r.token = s.value ->> 1 AND r.state = 'running'
ON CONFLICT (run_id) DO UPDATE
SET
    checkpoint = coalesce(excluded.checkpoint, checkpoint), progress = coalesce(excluded.progress, progress),
    note = coalesce(excluded.note, note), updated_ms = excluded.updated_ms
RETURNING run_id;

-- name: of
-- What live runs told. A row that an end left behind is nobody's.
SELECT p.run_id, p.checkpoint, p.progress, p.note, p.updated_ms
FROM json_each(?1) AS j
CROSS JOIN run_progress AS p ON p.run_id = unhex(j.value)
WHERE EXISTS (SELECT 1 FROM runs AS r WHERE r.id = p.run_id);

-- name: sweep
-- What runs told that are not live any more.
DELETE FROM run_progress
WHERE run_id IN (
    SELECT p.run_id
    FROM run_progress AS p
    WHERE NOT EXISTS (SELECT 1 FROM runs AS r WHERE r.id = p.run_id)
    LIMIT ?1
);
