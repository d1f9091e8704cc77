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

-- name: forget_told
-- What was told of occurrences before an instant, as much as one pass takes.
DELETE FROM ledger
WHERE (job_id, from_ms) IN (SELECT job_id, from_ms FROM ledger INDEXED BY ledger_told WHERE to_ms < ?1 ORDER BY to_ms LIMIT ?2)
RETURNING job_id;

-- name: deleted
-- Jobs that were deleted before an instant, those first that were so first, once they have no runs any more.
SELECT j.id
FROM jobs AS j INDEXED BY jobs_deleted
WHERE
    j.deleted_ms < ?1
    AND NOT EXISTS (SELECT 1 FROM runs AS r INDEXED BY runs_job WHERE r.job_id = j.id)
    AND NOT EXISTS (SELECT 1 FROM history AS h INDEXED BY history_job WHERE h.job_id = j.id)
ORDER BY j.deleted_ms, j.id
LIMIT ?2;

-- name: forget_versions
DELETE FROM job_versions WHERE job_id IN (SELECT unhex(value) FROM json_each(?1));

-- name: forget_told_of
-- What was told of the occurrences of jobs.
DELETE FROM ledger WHERE job_id IN (SELECT unhex(value) FROM json_each(?1));

-- name: forget_retentions
DELETE FROM retentions WHERE job_id IN (SELECT unhex(value) FROM json_each(?1));

-- name: forget_jobs
DELETE FROM jobs WHERE id IN (SELECT unhex(value) FROM json_each(?1));
