-- name: many
-- What some tenants sign with.
SELECT tenant, current, previous, rotated_ms FROM dueline.signing_secrets WHERE tenant = ANY($1::text[]);

-- name: rotate
-- Sign with another secret. The same one asked for again, because an answer was lost, does not push the previous one out.
INSERT INTO dueline.signing_secrets AS s (tenant, current, rotated_ms)
VALUES ($1, $2, dueline.now_ms())
ON CONFLICT (tenant) DO UPDATE
SET
    current = excluded.current,
    previous = CASE s.current WHEN excluded.current THEN s.previous ELSE s.current END,
    rotated_ms = CASE s.current WHEN excluded.current THEN s.rotated_ms ELSE excluded.rotated_ms END
RETURNING current, previous, rotated_ms;
