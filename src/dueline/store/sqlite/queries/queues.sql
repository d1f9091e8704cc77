-- name: states
-- Every queue that has live runs or is paused. It counts them all: it is for people.
SELECT
    l.queue, count(*) FILTER (WHERE l.state = 'ready') AS ready, count(*) FILTER (WHERE l.state = 'running') AS running,
    count(*) FILTER (WHERE l.state = 'held') AS held, count(*) FILTER (WHERE l.state IN ('scheduled', 'retrying')) AS waiting,
    min(l.due_ms) FILTER (WHERE l.state = 'ready') AS oldest_ms, p.queue IS NOT NULL AS paused, p.note
FROM (
    SELECT queue, state, due_ms FROM runs
    UNION ALL
    SELECT queue, NULL, NULL FROM queue_pauses
) AS l
LEFT JOIN queue_pauses AS p ON p.queue = l.queue
GROUP BY l.queue
ORDER BY l.queue;

-- name: reasons
-- Why runs are held or put off, and how many.
SELECT queue, reason, count(*) FROM runs WHERE state IN ('held', 'scheduled') AND reason IS NOT NULL GROUP BY queue, reason;

-- name: pause
-- A queue that is paused already gets another note, and without one keeps its own.
INSERT INTO queue_pauses (queue, note, since_ms) VALUES (?1, ?2, now_ms())
ON CONFLICT (queue) DO UPDATE SET note = coalesce(excluded.note, note);

-- name: resume
-- No row: it was not paused.
DELETE FROM queue_pauses WHERE queue = ?1 RETURNING queue;
