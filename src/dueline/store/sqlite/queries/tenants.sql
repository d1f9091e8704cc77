-- name: get
-- No row: nothing was set.
SELECT tenant, weight, quotas, updated_ms FROM tenants WHERE tenant = ?1;

-- name: put
-- Set it anew, if it was set last when the caller thinks so, or whenever it was. Every setting has a time of its own: the later counts.
INSERT INTO tenants AS t (tenant, weight, quotas, updated_ms)
VALUES (?1, ?2, ?3, now_ms())
ON CONFLICT (tenant) DO UPDATE SET
    weight = excluded.weight, quotas = excluded.quotas, updated_ms = max(excluded.updated_ms, t.updated_ms + 1)
WHERE ?4 IS NULL OR t.updated_ms = ?4
RETURNING tenant, weight, quotas, updated_ms;

-- name: page
-- Tenants that something was set for, above a name.
SELECT tenant, weight, quotas, updated_ms FROM tenants WHERE tenant > ?1 ORDER BY tenant LIMIT ?2;

-- name: with_quotas
-- Tenants that may not have, or do, whatever they like.
SELECT tenant, weight, quotas, updated_ms FROM tenants WHERE quotas IS NOT NULL;

-- name: count_jobs
SELECT count(*) FROM jobs WHERE tenant = ?1 AND deleted_ms IS NULL;

-- name: uses
-- What tenants have. Runs that a worker holds for their time are not under way yet.
SELECT
    t.value,
    (SELECT count(*) FROM jobs AS j WHERE j.tenant = t.value AND j.deleted_ms IS NULL) AS jobs,
    (
        SELECT count(*) FROM runs AS r WHERE r.state = 'running' AND r.worker IS NOT NULL AND r.tenant = t.value AND r.due_ms <= now_ms()
    ) AS running
FROM json_each(?1) AS t;
