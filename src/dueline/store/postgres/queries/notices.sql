-- name: due
-- Runs whose ends somebody may have to be told of, as far as they are known.
SELECT
    n.run_id, h.spec,
    h.id, h.job_id, h.version, h.tenant, h.kind, h.state, h.queue, h.priority, h.tags, h.scheduled_ms, h.due_ms, h.created_ms,
    h.claimed_ms, h.started_ms, h.finished_ms, h.attempt, h.lost, h.worker, h.reason, h.parent_id, h.attempts
FROM (SELECT run_id FROM dueline.notices ORDER BY run_id LIMIT $1) AS n
LEFT JOIN LATERAL (SELECT * FROM dueline.history WHERE id = n.run_id OFFSET 0) AS h ON true;

-- name: take
-- Those of them that nobody else has dealt with, in the order of the ids, as everywhere.
DELETE FROM dueline.notices
WHERE run_id = ANY(ARRAY(SELECT run_id FROM dueline.notices WHERE run_id = ANY($1::uuid[]) ORDER BY run_id FOR UPDATE))
RETURNING run_id;
