INSERT INTO dueline.history (
    id, job_id, version, tenant, kind, state, queue, priority, region, scheduled_ms, due_ms, created_ms, claimed_ms, started_ms,
    finished_ms, worker, attempt, lost, reason, tags, parent_id, spec, attempts
)
