-- name: get
-- No row: nothing was set.
SELECT tenant, weight, quotas, updated_ms FROM dueline.tenants WHERE tenant = $1;

-- name: put
-- Set it anew, if it was set last when the caller thinks so, or whenever it was. Every setting has a time of its own: the later counts.
INSERT INTO dueline.tenants AS t (tenant, weight, quotas, updated_ms)
VALUES ($1, $2, $3, dueline.now_ms())
ON CONFLICT (tenant) DO UPDATE SET
    weight = excluded.weight, quotas = excluded.quotas, updated_ms = greatest(excluded.updated_ms, t.updated_ms + 1)
WHERE $4::bigint IS NULL OR t.updated_ms = $4
RETURNING tenant, weight, quotas, updated_ms;

-- name: page
-- Tenants that something was set for, above a name.
SELECT tenant, weight, quotas, updated_ms FROM dueline.tenants WHERE tenant > $1 ORDER BY tenant LIMIT $2;

-- name: with_quotas
-- Tenants that may not have, or do, whatever they like.
SELECT tenant, weight, quotas, updated_ms FROM dueline.tenants WHERE quotas IS NOT NULL;

-- name: lock
-- Nobody else creates jobs of a tenant that may not have any number of them until the commit.
SELECT FROM dueline.tenants WHERE tenant = $1 FOR NO KEY UPDATE;

-- name: count_jobs
-- In a statement of its own: what others created before the tenant was locked is seen.
SELECT count(*) FROM dueline.jobs WHERE tenant = $1 AND deleted_ms IS NULL;

-- name: uses
-- What tenants have. Runs that a worker holds for their time are not under way yet.
SELECT
    t.tenant,
    (SELECT count(*) FROM dueline.jobs AS j WHERE j.tenant = t.tenant AND j.deleted_ms IS NULL) AS jobs,
    coalesce(r.running, 0) AS running
FROM unnest($1::text[]) AS t (tenant)
LEFT JOIN (
    SELECT tenant, count(*) AS running FROM dueline.runs
    WHERE state = 'running' AND worker IS NOT NULL AND due_ms <= dueline.now_ms()
    GROUP BY tenant
) AS r USING (tenant);
