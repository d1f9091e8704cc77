-- The record of runs that nobody executed when they ended.
-- part: record
SELECT
    r.id, r.job_id, r.version, r.tenant, r.kind, <state>, r.queue, r.priority, r.region, r.scheduled_ms, r.due_ms, r.created_ms,
    NULL, NULL, now_ms(), NULL, <attempt>, r.lost, <reason>, r.tags, r.parent_id, r.spec, r.attempts
