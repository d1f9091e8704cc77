-- name: tell
-- Keep what became of occurrences that became no runs. What was told before stays.
INSERT INTO ledger (job_id, from_ms, to_ms, version, verdict, reason)
SELECT unhex(value ->> 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM jsonb_each(?1) WHERE true
ON CONFLICT DO NOTHING;

-- name: unfired
-- Stretches that touch a span, in order. They never overlap: of those that begin before the span, only the last can reach into it.
SELECT version, from_ms, to_ms, verdict, reason
FROM ledger
WHERE
    job_id = ?1 AND from_ms <= ?3 AND to_ms >= ?2
    AND from_ms >= coalesce((SELECT max(l.from_ms) FROM ledger AS l WHERE l.job_id = ?1 AND l.from_ms <= ?2), ?2)
ORDER BY from_ms
LIMIT ?4;

-- name: occurrence_runs
-- Runs of a job's occurrences between two ids, live and finished, earliest first; the scheduled time, which the id repeats, decides.
SELECT * FROM (
    SELECT
        -- part: live_run
    FROM runs INDEXED BY runs_job
    WHERE job_id = ?1 AND id >= ?2 AND id < ?3 AND kind = 'scheduled' AND scheduled_ms BETWEEN ?4 AND ?5
    ORDER BY id
    LIMIT ?6
)
UNION ALL
SELECT * FROM (
    SELECT
        -- part: ended_run
    FROM history INDEXED BY history_job
    WHERE job_id = ?1 AND id >= ?2 AND id < ?3 AND kind = 'scheduled' AND scheduled_ms BETWEEN ?4 AND ?5
    ORDER BY id
    LIMIT ?6
)
ORDER BY id
LIMIT ?6;
