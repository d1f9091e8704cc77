-- name: states
-- Every queue that has live runs or is paused. It counts all live runs: it is for people, and not for a loop.
SELECT
    coalesce(c.queue, p.queue) AS queue, coalesce(c.ready, 0) AS ready, coalesce(c.running, 0) AS running, coalesce(c.held, 0) AS held,
    coalesce(c.waiting, 0) AS waiting, c.oldest_ms, p.queue IS NOT NULL AS paused, p.note
FROM (
    SELECT
        queue,
        count(*) FILTER (WHERE state = 'ready') AS ready,
        count(*) FILTER (WHERE state = 'running') AS running,
        count(*) FILTER (WHERE state = 'held') AS held,
        count(*) FILTER (WHERE state IN ('scheduled', 'retrying')) AS waiting,
        min(due_ms) FILTER (WHERE state = 'ready') AS oldest_ms
    FROM dueline.runs
    GROUP BY queue
) AS c
FULL JOIN dueline.queue_pauses AS p ON p.queue = c.queue
ORDER BY coalesce(c.queue, p.queue) COLLATE "C";

-- name: reasons
-- Why runs are held or put off, and how many.
SELECT queue, reason, count(*) FROM dueline.runs WHERE state IN ('held', 'scheduled') AND reason IS NOT NULL GROUP BY queue, reason;

-- name: pause
-- Asked again with a note, it changes that; the queue is paused since the first time.
INSERT INTO dueline.queue_pauses (queue, note, since_ms)
VALUES ($1, $2, dueline.now_ms())
ON CONFLICT (queue) DO UPDATE SET note = coalesce(excluded.note, queue_pauses.note);

-- name: resume
DELETE FROM dueline.queue_pauses WHERE queue = $1 RETURNING queue;
