-- name: register
-- Repeated when an answer was lost, it only renews.
INSERT INTO dueline.nodes (boot_id, role, host, pid, version, beat, started_ms, expires_ms, draining)
VALUES ($1, $2, $3, $4, $5, 0, dueline.now_ms(), dueline.now_ms() + $6, false)
ON CONFLICT (boot_id) DO UPDATE SET expires_ms = excluded.expires_ms;

-- name: beat
-- No row: the process was declared dead.
UPDATE dueline.nodes SET beat = beat + 1, expires_ms = dueline.now_ms() + $2 WHERE boot_id = $1 RETURNING dueline.now_ms();

-- name: drain
UPDATE dueline.nodes SET draining = true WHERE boot_id = $1;

-- name: leave
DELETE FROM dueline.nodes WHERE boot_id = $1;

-- name: bury
-- Only by the store's clock; the caller adds what it saw itself.
DELETE FROM dueline.nodes WHERE boot_id = $1 AND expires_ms < dueline.now_ms() RETURNING boot_id;

-- name: list
SELECT boot_id, role, host, pid, version, beat, started_ms, expires_ms < dueline.now_ms() AS expired, draining
FROM dueline.nodes
ORDER BY boot_id;
