letters AS (
    INSERT INTO dueline.dead_letters (run_id, tenant, job_id, queue, reason, failed_ms)
    SELECT id, tenant, job_id, queue, reason, finished_ms FROM kept WHERE state = 'failed'
    ON CONFLICT (run_id) DO NOTHING
),
-- part: told
