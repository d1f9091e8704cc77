-- name: bounds
-- When the record was begun, and the last number that was given out; `writing` follows.
SELECT
    (SELECT applied_ms FROM dueline.migrations WHERE version = 19) AS origin_ms,
    CASE WHEN is_called THEN last_value ELSE 0 END AS last
FROM dueline.changes_seq_seq;

-- name: writing
-- Who may have numbers that cannot be seen yet: all that have the table locked as writers do. Asked after the last number is known.
SELECT DISTINCT virtualtransaction
FROM pg_locks
WHERE
    locktype = 'relation' AND mode = 'RowExclusiveLock' AND relation = 'dueline.changes'::regclass
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database());

-- name: rows
SELECT seq, at_ms, told, ids, versions, state FROM dueline.changes WHERE seq >= $1 AND seq <= $2 ORDER BY seq LIMIT $3;

-- name: swept
SELECT coalesce(max(swept), 0) FROM dueline.change_sweeps;

-- name: tell
-- What became of jobs.
INSERT INTO dueline.changes (at_ms, told, ids, versions, state) VALUES (dueline.now_ms(), $1, $2, $3, $4);

-- name: ended
-- Runs that ended, as listeners are told of them. Each is looked up by its id, which says in which of the days it is: asked for as a list, every
-- day would be looked through for all of them.
SELECT
    h.id, h.job_id, h.version, h.tenant, h.kind, h.state, h.queue, h.priority, h.tags, h.scheduled_ms, h.due_ms, h.created_ms,
    h.claimed_ms, h.started_ms, h.finished_ms, h.attempt, h.lost, h.worker, h.reason, h.parent_id, '' AS attempts
FROM unnest($2::uuid[]) AS w (id)
CROSS JOIN LATERAL (SELECT * FROM dueline.history WHERE id = w.id OFFSET 0) AS h
WHERE h.tenant = $1 AND CASE WHEN $3::uuid IS NULL THEN true ELSE h.job_id = $3 END;

-- name: names
SELECT id, name FROM dueline.jobs WHERE id = ANY($2::uuid[]) AND (tenant = $1) IS TRUE;

-- name: forget
-- The oldest rows, if they are too old. How far is remembered in the same statement.
WITH gone AS (
    DELETE FROM dueline.changes
    WHERE seq = ANY(ARRAY(
        SELECT seq FROM (SELECT seq, at_ms FROM dueline.changes ORDER BY seq LIMIT $2) AS oldest WHERE at_ms < dueline.now_ms() - $1
    ))
    RETURNING seq
), swept AS (
    INSERT INTO dueline.change_sweeps AS s (swept)
    SELECT max(seq) FROM gone HAVING count(*) > 0
    ON CONFLICT (one) DO UPDATE SET swept = greatest(s.swept, excluded.swept)
)
SELECT count(*) FROM gone;
