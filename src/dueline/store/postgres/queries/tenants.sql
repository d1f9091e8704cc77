-- name: get
-- No row: nothing was set.
SELECT tenant, weight, quotas, updated_ms FROM dueline.tenants WHERE tenant = $1;

-- name: put
-- Set it anew.
INSERT INTO dueline.tenants (tenant, weight, quotas, updated_ms) VALUES ($1, $2, $3, dueline.now_ms())
ON CONFLICT (tenant) DO UPDATE SET weight = excluded.weight, quotas = excluded.quotas, updated_ms = excluded.updated_ms
RETURNING tenant, weight, quotas, updated_ms;

-- name: page
-- Tenants that something was set for, above a name.
SELECT tenant, weight, quotas, updated_ms FROM dueline.tenants WHERE tenant > $1 ORDER BY tenant LIMIT $2;
