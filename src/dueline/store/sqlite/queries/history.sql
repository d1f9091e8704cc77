-- name: swept
SELECT tenant, swept_ms FROM history_sweeps;

-- name: since
-- Up to when runs of a job may be gone: with those of all, of its tenant, or by themselves.
SELECT max(
    (SELECT coalesce(max(swept_ms), 0) FROM history_sweeps WHERE tenant IN (?1, '')),
    coalesce((SELECT swept_ms FROM retentions WHERE job_id = ?2), 0)
);

-- name: ended
-- When the run ended that comes after so many others that ended between two instants.
SELECT finished_ms FROM history WHERE finished_ms >= ?1 AND finished_ms < ?2 ORDER BY finished_ms LIMIT 1 OFFSET ?3;

-- name: forget
-- Runs of some tenants that ended between two instants; of everyone, where none are given.
DELETE FROM history
WHERE finished_ms >= ?1 AND finished_ms < ?2 AND (?3 IS NULL OR tenant IN (SELECT value FROM json_each(?3)))
RETURNING tenant, id;

-- name: forget_letters
-- Their dead letters.
DELETE FROM dead_letters
WHERE (tenant, run_id) IN (SELECT value ->> 0, unhex(value ->> 1) FROM jsonb_each(?1));

-- name: mark
-- Remember up to when they are gone.
INSERT INTO history_sweeps (tenant, swept_ms) SELECT value, ?2 FROM json_each(?1) WHERE true
ON CONFLICT (tenant) DO UPDATE SET swept_ms = max(swept_ms, excluded.swept_ms);
