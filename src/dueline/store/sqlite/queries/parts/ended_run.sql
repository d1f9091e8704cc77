id, job_id, version, tenant, kind, state, queue, priority, tags, scheduled_ms, due_ms, created_ms, claimed_ms,
started_ms, finished_ms, attempt, lost, worker, reason, parent_id, attempts
