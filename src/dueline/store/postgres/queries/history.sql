-- name: add_day
-- Make the partition of one day, named by its first millisecond.
SELECT dueline.add_history_day($1);

-- name: days
-- The days that have a partition and are over before an instant, oldest first, each by its first millisecond. The partition of all other
-- days has no date in its name, and must not be asked for one.
SELECT d.day_ms
FROM pg_inherits AS i
JOIN pg_class AS c ON c.oid = i.inhrelid
CROSS JOIN LATERAL (
    SELECT
        CASE WHEN c.relname ~ '^history_[0-9]{8}$' THEN extract(epoch FROM to_date(right(c.relname, 8), 'YYYYMMDD'))::bigint * 1000 END
        AS day_ms
) AS d
WHERE i.inhparent = 'dueline.history'::regclass AND d.day_ms + 86400000 <= $1
ORDER BY d.day_ms;

-- name: drop_day
-- Others wait no longer than this for a lock that is not to be had.
SELECT dueline.drop_history_day($1, $2, $3) FROM set_config('lock_timeout', '200', true);

-- name: sweeping
-- One process at a time, the others have nothing to do; the number is the letters of "sweep".
SELECT pg_try_advisory_xact_lock(495924372848);

-- name: swept
SELECT tenant, swept_ms FROM dueline.history_sweeps;

-- name: since
-- Up to when runs of a job may be gone: with those of all, of its tenant, or by themselves.
SELECT greatest(
    (SELECT coalesce(max(swept_ms), 0) FROM dueline.history_sweeps WHERE tenant IN ($1, '')),
    (SELECT swept_ms FROM dueline.retentions WHERE job_id = $2)
);

-- name: ended
-- When the run ended that comes after so many others that ended between two instants.
SELECT finished_ms FROM dueline.history WHERE finished_ms >= $1 AND finished_ms < $2 ORDER BY finished_ms OFFSET $3 LIMIT 1;

-- name: ended_other
-- The same of the days that have no partition.
SELECT finished_ms FROM dueline.history_other WHERE finished_ms >= $1 AND finished_ms < $2 ORDER BY finished_ms OFFSET $3 LIMIT 1;

-- name: forget
-- Runs of some tenants that ended between two instants.
DELETE FROM dueline.history WHERE finished_ms >= $1 AND finished_ms < $2 AND tenant = ANY($3::text[]) RETURNING tenant, id;

-- name: forget_other
-- Everyone's, of the days that have no partition.
DELETE FROM dueline.history_other WHERE finished_ms >= $1 AND finished_ms < $2 RETURNING tenant, id;

-- name: forget_letters
-- Their dead letters, in the order of the ids, as everywhere.
DELETE FROM dueline.dead_letters
WHERE ctid = ANY(ARRAY(SELECT ctid FROM dueline.dead_letters WHERE run_id = ANY($1::uuid[]) ORDER BY run_id FOR UPDATE));

-- name: mark
-- Remember up to when they are gone.
INSERT INTO dueline.history_sweeps AS s (tenant, swept_ms)
SELECT t.tenant, $2 FROM unnest($1::text[]) AS t (tenant) ORDER BY t.tenant
ON CONFLICT (tenant) DO UPDATE SET swept_ms = greatest(s.swept_ms, excluded.swept_ms);

-- name: forget_told
-- What was told of occurrences before an instant, as much as one pass takes.
DELETE FROM dueline.ledger
WHERE ctid = ANY(ARRAY(SELECT ctid FROM dueline.ledger WHERE to_ms < $1 ORDER BY to_ms LIMIT $2))
RETURNING job_id;

-- name: deleted
-- Jobs that were deleted before an instant, those first that were so first, once they have no runs any more.
SELECT j.id
FROM dueline.jobs AS j
WHERE
    j.deleted_ms < $1
    AND (SELECT r.id FROM dueline.runs AS r WHERE r.job_id = j.id ORDER BY r.id LIMIT 1) IS NULL
    AND (SELECT h.id FROM dueline.history AS h WHERE h.job_id = j.id ORDER BY h.id LIMIT 1) IS NULL
ORDER BY j.deleted_ms, j.id
LIMIT $2;

-- name: forget_versions
DELETE FROM dueline.job_versions WHERE job_id = ANY($1::uuid[]);

-- name: forget_told_of
-- What was told of the occurrences of jobs.
DELETE FROM dueline.ledger WHERE job_id = ANY($1::uuid[]);

-- name: forget_retentions
DELETE FROM dueline.retentions WHERE job_id = ANY($1::uuid[]);

-- name: forget_jobs
DELETE FROM dueline.jobs WHERE id = ANY($1::uuid[]);

-- name: scattered_words
-- Some jobs whose words are to go into another block of their index, with that. Blocks that are next to each other and have few jobs left are put
-- together, because who searches asks all of them: a quarter of a block is few, and a half is enough. The newest is being filled. A job that
-- somebody changes now is left for another time.
WITH counted AS (
    SELECT block, count(*) AS jobs FROM dueline.job_words WHERE block >= 0 GROUP BY block
), placed AS (
    SELECT block, jobs, count(*) FILTER (WHERE jobs >= 4096) OVER (ORDER BY block) AS place, max(block) OVER () AS newest FROM counted
), heaped AS (
    SELECT block, place, div(sum(jobs) OVER (PARTITION BY place ORDER BY block), 8192) AS heap FROM placed WHERE jobs < 4096 AND block < newest
), aimed AS (
    SELECT block, min(block) OVER (PARTITION BY place, heap) AS goal FROM heaped
)
SELECT w.id, a.goal
FROM (SELECT block, goal FROM aimed WHERE block <> goal ORDER BY block LIMIT $1) AS a
CROSS JOIN LATERAL (
    SELECT o.id FROM dueline.job_words AS o WHERE o.block >= 0 AND o.block = a.block ORDER BY o.id LIMIT $1 FOR UPDATE SKIP LOCKED
) AS w
LIMIT $1;

-- name: gather_words
-- Put them there.
UPDATE dueline.job_words AS w SET block = f.block
FROM ROWS FROM (unnest($1::uuid[], $2::integer[]), generate_subscripts($1::uuid[], 1)) AS f (id, block)
WHERE w.id = f.id AND w.id = ANY($1::uuid[]);
