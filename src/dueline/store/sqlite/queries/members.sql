-- name: register
-- Asked again by a process that did not hear the answer, it only renews the lease.
INSERT INTO nodes (
    boot_id, role, host, pid, version, beat, started_ms, expires_ms, draining, queues, labels, tasks, slots, busy, drain_asked, beat_ms
)
VALUES (?1, ?2, ?3, ?4, ?5, 0, now_ms(), now_ms() + ?6, 0, ?7, ?8, ?9, ?10, 0, 0, now_ms())
ON CONFLICT (boot_id) DO UPDATE SET expires_ms = excluded.expires_ms, beat_ms = excluded.beat_ms;

-- name: beat
-- No row: the process was declared dead.
UPDATE nodes SET beat = beat + 1, expires_ms = now_ms() + ?2, busy = ?3, rates = ?4, beat_ms = now_ms()
WHERE boot_id = ?1
RETURNING beat_ms, drain_asked;

-- name: ask_drain
-- The process hears so with its next beat. No row: there is no such process.
UPDATE nodes SET drain_asked = 1 WHERE boot_id = ?1 RETURNING boot_id;

-- name: drain
UPDATE nodes SET draining = 1 WHERE boot_id = ?1;

-- name: leave
DELETE FROM nodes WHERE boot_id = ?1;

-- name: bury
-- Only by the store's clock; the caller adds what it saw itself.
DELETE FROM nodes WHERE boot_id = ?1 AND expires_ms < now_ms() RETURNING boot_id;

-- name: bury_own
-- Who has the file open is everything at once, and died with it. Mere workers work through its API, and may well live.
DELETE FROM nodes WHERE role = 'all';

-- name: list
-- One that was asked to drain is draining, though it may not have heard of it yet.
SELECT
    boot_id, role, host, pid, version, beat, started_ms, expires_ms < now_ms() AS expired, draining OR drain_asked AS draining,
    queues, labels, tasks, slots, busy, rates, beat_ms
FROM nodes
ORDER BY boot_id;

-- name: pulses
-- The same of all processes, as far as others look at it all the time.
SELECT boot_id, role, host, pid, beat, expires_ms < now_ms() AS expired, draining OR drain_asked AS draining
FROM nodes
ORDER BY boot_id;
