-- name: register
-- Repeated when an answer was lost, it only renews.
INSERT INTO dueline.nodes (
    boot_id, role, host, pid, version, beat, started_ms, expires_ms, draining, queues, labels, tasks, slots, busy, drain_asked, beat_ms
)
VALUES (
    $1, $2, $3, $4, $5, 0, dueline.now_ms(), dueline.now_ms() + $6, false,
    $7::text[], $8::text[], $9::text[], $10, 0, false, dueline.now_ms()
)
ON CONFLICT (boot_id) DO UPDATE SET expires_ms = excluded.expires_ms, beat_ms = excluded.beat_ms;

-- name: beat
-- No row: the process was declared dead.
UPDATE dueline.nodes
SET beat = beat + 1, expires_ms = dueline.now_ms() + $2, busy = $3, rates = $4, beat_ms = dueline.now_ms()
WHERE boot_id = $1
RETURNING beat_ms, drain_asked;

-- name: ask_drain
-- The process hears of it with its next beat.
UPDATE dueline.nodes SET drain_asked = true WHERE boot_id = $1 RETURNING boot_id;

-- name: drain
UPDATE dueline.nodes SET draining = true WHERE boot_id = $1;

-- name: leave
DELETE FROM dueline.nodes WHERE boot_id = $1;

-- name: bury
-- Only by the store's clock; the caller adds what it saw itself.
DELETE FROM dueline.nodes WHERE boot_id = $1 AND expires_ms < dueline.now_ms() RETURNING boot_id;

-- name: list
-- One that was asked to drain is draining, though it may not have heard of it yet.
SELECT
    boot_id, role, host, pid, version, beat, started_ms, expires_ms < dueline.now_ms() AS expired, draining OR drain_asked AS draining,
    queues, labels, tasks, slots, busy, rates, beat_ms
FROM dueline.nodes
ORDER BY boot_id;

-- name: pulses
-- The same of all processes, as far as others look at it all the time.
SELECT boot_id, role, host, pid, beat, expires_ms < dueline.now_ms() AS expired, draining OR drain_asked AS draining
FROM dueline.nodes
ORDER BY boot_id;
