-- name: any
-- Whether the end of any live run may have to be told.
SELECT EXISTS (SELECT 1 FROM runs INDEXED BY runs_notifies WHERE notifies);

-- name: keep
-- Of runs that are about to leave the hot table, those whose end somebody may have to be told.
INSERT INTO notices (run_id)
SELECT id FROM runs WHERE id IN carray(?1) AND notifies
ON CONFLICT (run_id) DO NOTHING;

-- name: due
-- Runs whose ends somebody may have to be told of, as far as they are known.
SELECT
    n.run_id, h.spec,
    h.id, h.job_id, h.version, h.tenant, h.kind, h.state, h.queue, h.priority, h.tags, h.scheduled_ms, h.due_ms, h.created_ms,
    h.claimed_ms, h.started_ms, h.finished_ms, h.attempt, h.lost, h.worker, h.reason, h.parent_id, h.attempts
FROM (SELECT run_id FROM notices ORDER BY run_id LIMIT ?1) AS n
LEFT JOIN history AS h ON h.id = n.run_id;

-- name: take
-- Those of them that are not dealt with yet.
DELETE FROM notices WHERE run_id IN (SELECT unhex(value) FROM json_each(?1)) RETURNING run_id;
