-- The record of runs that nobody executed when they ended.
kept AS (
    -- part: record
    SELECT
        id, job_id, version, tenant, kind, <state>, queue, priority, region, scheduled_ms, due_ms, created_ms, NULL, NULL,
        dueline.now_ms(), NULL, <attempt>, lost, <reason>, tags, parent_id, spec, attempts
    FROM ended
    ON CONFLICT (id) DO NOTHING
    RETURNING id, job_id, finished_ms
),
-- part: told
