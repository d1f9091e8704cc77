-- name: get
-- No row: nothing was set.
SELECT weight, updated_ms FROM tenants WHERE tenant = ?1;

-- name: put
-- Set it anew.
INSERT INTO tenants (tenant, weight, updated_ms) VALUES (?1, ?2, now_ms())
ON CONFLICT (tenant) DO UPDATE SET weight = excluded.weight, updated_ms = excluded.updated_ms
RETURNING updated_ms;

-- name: page
-- Tenants that something was set for, above a name.
SELECT tenant, weight, updated_ms FROM tenants WHERE tenant > ?1 ORDER BY tenant LIMIT ?2;
