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
-- The last admin of the tenant that governs stays, however many are revoked at once: the writer is alone.
UPDATE api_keys SET revoked_ms = coalesce(revoked_ms, now_ms())
WHERE id = ?1
    AND (
        revoked_ms IS NOT NULL OR expires_ms <= now_ms() OR tenant <> ?2 OR role <> ?3
        OR EXISTS (
            SELECT 1 FROM api_keys AS o
            WHERE o.tenant = ?2 AND o.role = ?3 AND o.id <> ?1 AND o.revoked_ms IS NULL
                AND (o.expires_ms IS NULL OR o.expires_ms > now_ms())
        )
    )
RETURNING id, tenant, role, name, digest, created_ms, expires_ms, revoked_ms;
