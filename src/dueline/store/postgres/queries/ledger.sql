-- name: tell
-- Keep what became of occurrences that became no runs. What was told before stays.
INSERT INTO dueline.ledger (job_id, from_ms, to_ms, version, verdict, reason)
SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::integer[], $5::text[], $6::text[])
ON CONFLICT DO NOTHING;

-- name: unfired
-- Stretches that touch a span, in order. They never overlap: of those that begin before the span, only the last can reach into it.
SELECT version, from_ms, to_ms, verdict, reason
FROM dueline.ledger
WHERE
    job_id = $1 AND from_ms <= $3 AND to_ms >= $2
    AND from_ms >= coalesce((SELECT max(l.from_ms) FROM dueline.ledger AS l WHERE l.job_id = $1 AND l.from_ms <= $2), $2)
ORDER BY from_ms
LIMIT $4;

-- name: occurrence_runs
-- Runs of a job's occurrences between two ids, live and finished, earliest first; the scheduled time, which the id repeats, decides.
(
    SELECT
        -- part: live_run
    FROM dueline.runs
    WHERE job_id = $1 AND id >= $2 AND id < $3 AND kind = 'scheduled' AND scheduled_ms BETWEEN $4 AND $5
    ORDER BY id
    LIMIT $6
)
UNION ALL
(
    SELECT
        -- part: ended_run
    FROM dueline.history
    WHERE job_id = $1 AND id >= $2 AND id < $3 AND kind = 'scheduled' AND scheduled_ms BETWEEN $4 AND $5
    ORDER BY id
    LIMIT $6
)
ORDER BY id
LIMIT $6;
