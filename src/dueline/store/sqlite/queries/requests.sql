-- name: note
-- A request whose move follows in the same transaction; nothing if it is there already. One that is too old might as well not be.
INSERT INTO requests (tenant, endpoint, key, digest, about, asked_ms) VALUES (?1, ?2, ?3, ?4, ?5, now_ms())
ON CONFLICT (tenant, endpoint, key) DO UPDATE
SET digest = excluded.digest, about = excluded.about, asked_ms = excluded.asked_ms, status = NULL, headers = NULL, body = NULL
WHERE asked_ms <= now_ms() - ?6
RETURNING asked_ms;

-- name: find
SELECT digest, about, now_ms() - asked_ms, status, headers, body
FROM requests
WHERE tenant = ?1 AND endpoint = ?2 AND key = ?3 AND asked_ms > now_ms() - ?4;

-- name: answer
-- The first answer stays, and so does that of another request with the key.
INSERT INTO requests (tenant, endpoint, key, digest, about, asked_ms, status, headers, body)
VALUES (?1, ?2, ?3, ?4, x'', now_ms(), ?5, ?6, ?7)
ON CONFLICT (tenant, endpoint, key) DO UPDATE
SET status = excluded.status, headers = excluded.headers, body = excluded.body
WHERE requests.status IS NULL AND requests.digest = excluded.digest;

-- name: forget
DELETE FROM requests
WHERE
    (tenant, endpoint, key) IN (
        SELECT tenant, endpoint, key FROM requests WHERE asked_ms <= now_ms() - ?1 ORDER BY asked_ms LIMIT ?2
    )
RETURNING asked_ms;
