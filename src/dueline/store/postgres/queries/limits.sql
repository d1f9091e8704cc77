-- name: all
-- What is set for queues and hosts.
SELECT scope, name, most, rate_count, period_ms, burst, updated_ms FROM dueline.limits ORDER BY scope, name;

-- name: put
-- Set it anew.
INSERT INTO dueline.limits (scope, name, most, rate_count, period_ms, burst, updated_ms)
VALUES ($1, $2, $3, $4, $5, $6, dueline.now_ms())
ON CONFLICT (scope, name) DO UPDATE SET
    most = excluded.most, rate_count = excluded.rate_count, period_ms = excluded.period_ms, burst = excluded.burst,
    updated_ms = excluded.updated_ms
RETURNING updated_ms;

-- name: delete
DELETE FROM dueline.limits WHERE scope = $1 AND name = $2 RETURNING dueline.now_ms();
