-- name: get
SELECT id, tenant, role, name, digest, created_ms, expires_ms, revoked_ms FROM api_keys WHERE id = ?1;

-- name: add
INSERT INTO api_keys (id, tenant, role, name, digest, created_ms, expires_ms)
VALUES (?1, ?2, ?3, ?4, ?5, now_ms(), ?6)
ON CONFLICT (id) DO NOTHING
RETURNING id, tenant, role, name, digest, created_ms, expires_ms, revoked_ms;

-- name: any
SELECT EXISTS (SELECT 1 FROM api_keys);

-- name: page
SELECT id, tenant, role, name, digest, created_ms, expires_ms, revoked_ms
FROM api_keys
WHERE tenant = ?1 AND id > ?2
ORDER BY id
LIMIT ?3;

-- name: revoke
UPDATE api_keys SET revoked_ms = coalesce(revoked_ms, now_ms()) WHERE id = ?1
RETURNING id, tenant, role, name, digest, created_ms, expires_ms, revoked_ms;
