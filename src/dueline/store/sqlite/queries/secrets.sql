-- name: many
-- What some tenants sign with.
SELECT tenant, current, previous, rotated_ms FROM signing_secrets WHERE tenant IN (SELECT value FROM json_each(?1));

-- name: rotate
-- Another secret takes the place of the current one. Asked again with the same secret, it changes nothing: the previous one is still known.
INSERT INTO signing_secrets (tenant, current, rotated_ms) VALUES (?1, ?2, now_ms())
ON CONFLICT (tenant) DO UPDATE
SET
    current = excluded.current,
    previous = CASE WHEN current = excluded.current THEN previous ELSE current END,
    rotated_ms = CASE WHEN current = excluded.current THEN rotated_ms ELSE excluded.rotated_ms END
RETURNING current, previous, rotated_ms;
