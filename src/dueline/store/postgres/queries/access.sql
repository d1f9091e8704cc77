-- name: get
SELECT id, tenant, role, name, digest, created_ms, expires_ms, revoked_ms FROM dueline.api_keys WHERE id = $1;

-- name: add
INSERT INTO dueline.api_keys (id, tenant, role, name, digest, created_ms, expires_ms)
VALUES ($1, $2, $3, $4, $5, dueline.now_ms(), $6)
ON CONFLICT (id) DO NOTHING
RETURNING id, tenant, role, name, digest, created_ms, expires_ms, revoked_ms;

-- name: lock
-- Whoever else wants to write the first one, or to revoke one, waits: two must not both be the first, or the last.
SELECT pg_advisory_xact_lock(495924372849);

-- name: any
SELECT EXISTS (SELECT FROM dueline.api_keys);

-- name: page
SELECT id, tenant, role, name, digest, created_ms, expires_ms, revoked_ms
FROM dueline.api_keys
WHERE tenant = $1 AND id > $2
ORDER BY id
LIMIT $3;

-- name: revoke
-- The last admin of the tenant that governs stays, however many are revoked at once: whoever revokes has the lock.
UPDATE dueline.api_keys SET revoked_ms = coalesce(revoked_ms, dueline.now_ms())
WHERE id = $1
    AND (
        revoked_ms IS NOT NULL OR expires_ms <= dueline.now_ms() OR tenant <> $2 OR role <> $3
        OR EXISTS (
            SELECT 1 FROM dueline.api_keys AS o
            WHERE o.tenant = $2 AND o.role = $3 AND o.id <> $1 AND o.revoked_ms IS NULL
                AND (o.expires_ms IS NULL OR o.expires_ms > dueline.now_ms())
        )
    )
RETURNING id, tenant, role, name, digest, created_ms, expires_ms, revoked_ms;
