-- name: bounds
-- When the record was begun, and the last number that was given out. Rows can be seen in the order of their numbers: there is one writer.
SELECT
    (SELECT applied_ms FROM migrations WHERE version = 19) AS origin_ms,
    (SELECT coalesce(max(seq), 0) FROM changes) AS last;

-- name: rows
SELECT seq, at_ms, told, ids, versions, state FROM changes WHERE seq >= ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3;

-- name: swept
SELECT coalesce(max(swept), 0) FROM change_sweeps;

-- name: tell
-- What became of jobs, or that runs ended.
INSERT INTO changes (at_ms, told, ids, versions, state) VALUES (now_ms(), ?1, ?2, ?3, ?4);

-- name: ended
-- Runs that ended, as listeners are told of them.
SELECT
    h.id, h.job_id, h.version, h.tenant, h.kind, h.state, h.queue, h.priority, h.tags, h.scheduled_ms, h.due_ms, h.created_ms,
    h.claimed_ms, h.started_ms, h.finished_ms, h.attempt, h.lost, h.worker, h.reason, h.parent_id, '' AS attempts
FROM json_each(?2) AS j
CROSS JOIN history AS h ON h.id = unhex(j.value)
WHERE h.tenant = ?1 AND (?3 IS NULL OR h.job_id = ?3);

-- name: names
SELECT j.id, j.name
FROM json_each(?2) AS w
CROSS JOIN jobs AS j ON j.id = unhex(w.value)
WHERE j.tenant = ?1;

-- name: forget
-- The oldest rows, if they are too old, but for the last there is; `mark` follows.
DELETE FROM changes
WHERE
    seq IN (SELECT seq FROM (SELECT seq, at_ms FROM changes ORDER BY seq LIMIT ?2) WHERE at_ms < now_ms() - ?1)
    AND seq < (SELECT max(seq) FROM changes)
RETURNING seq;

-- name: mark
-- Remember up to which number they are gone.
INSERT INTO change_sweeps (one, swept) VALUES (1, ?1)
ON CONFLICT (one) DO UPDATE SET swept = max(swept, excluded.swept);
