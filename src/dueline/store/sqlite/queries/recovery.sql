-- name: missed
-- Unstarted runs of occurrences that were missed, those due first first. The conditions with numbers are those of the index; the ones
-- that follow decide.
SELECT id, tenant, job_id, scheduled_ms, due_ms
FROM runs INDEXED BY runs_missed
WHERE
    kind = 'scheduled' AND attempt = 0 AND state IN ('scheduled', 'ready') AND created_ms - scheduled_ms > 1000
    AND created_ms - scheduled_ms > ?2 AND begun_ms IS NULL AND (?1 IS NULL OR tenant = ?1)
ORDER BY due_ms, id
LIMIT ?3;

-- name: missed_of_job
-- The same for one job, by the index of its runs.
SELECT id, tenant, job_id, scheduled_ms, due_ms
FROM runs INDEXED BY runs_job
WHERE
    job_id = ?4 AND state IN ('scheduled', 'ready') AND kind = 'scheduled' AND begun_ms IS NULL
    AND created_ms - scheduled_ms > ?2 AND (?1 IS NULL OR tenant = ?1)
ORDER BY due_ms, id
LIMIT ?3;

-- name: lapsed
-- Runs that were written longer ahead of their time than runs that become ready at once, and still wait so long after it. What somebody put
-- off has a reason, and what was missed before it was written is caught up.
SELECT id, job_id, version, scheduled_ms
FROM runs INDEXED BY runs_waiting
WHERE
    state IN ('scheduled', 'retrying') AND state = 'scheduled' AND due_ms < now_ms() - ?1 AND kind = 'scheduled' AND begun_ms IS NULL
    AND reason IS NULL AND missed IS NULL AND created_ms + ?2 < scheduled_ms
ORDER BY due_ms
LIMIT ?3;

-- name: repace
-- move: repace
-- Unstarted runs wait for other due times, and get other ranks when these come near.
UPDATE runs
SET state = 'scheduled', due_ms = d.due_ms, token = runs.token + 1
FROM (SELECT unhex(value ->> 0) AS run_id, value ->> 1 AS due_ms FROM jsonb_each(?1)) AS d
WHERE runs.id = d.run_id AND runs.state IN ('scheduled', 'ready') AND runs.begun_ms IS NULL
RETURNING id;

-- name: overdue
-- Plans that should have been acted on before an instant, the longest overdue first.
SELECT j.tenant, p.job_id, p.version, p.next_ms, p.due_ms, p.runs_left
FROM plans AS p INDEXED BY plans_due
CROSS JOIN jobs AS j ON j.id = p.job_id
WHERE p.due_ms < ?2 AND j.state = 'active' AND (?1 IS NULL OR j.tenant = ?1)
ORDER BY p.due_ms
LIMIT ?3;

-- name: overdue_count
-- How many those are. A plan that has a due time is of an active job, so its job is looked at for the tenant only.
SELECT count(*)
FROM plans AS p INDEXED BY plans_due
WHERE p.due_ms < ?2 AND (?1 IS NULL OR EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = p.job_id AND j.tenant = ?1));
