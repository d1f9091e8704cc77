-- Live runs, written anew as a table with rowids. A claim and an end find a run by its id once and go on by a number: one entry more to find it
-- by costs less than to look for it again by its key, and to take its row out and put it in again. What claims read comes first, and what few
-- runs have last.
CREATE TABLE runs_by_number (
    id           BLOB NOT NULL PRIMARY KEY,
    job_id       BLOB,
    version      INTEGER,
    tenant       TEXT NOT NULL,
    kind         TEXT NOT NULL,
    state        TEXT NOT NULL,
    queue        TEXT NOT NULL,
    lane         TEXT NOT NULL DEFAULT '',
    priority     INTEGER NOT NULL,
    rank         INTEGER NOT NULL,
    exclusive    INTEGER NOT NULL,
    timeout_ms   INTEGER NOT NULL,
    scheduled_ms INTEGER NOT NULL,
    due_ms       INTEGER NOT NULL,
    created_ms   INTEGER NOT NULL,
    token        INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    lost         INTEGER NOT NULL,
    spec         TEXT,
    overlap      TEXT,
    expires_ms   INTEGER,
    begun_ms     INTEGER,
    claimed_ms   INTEGER,
    worker       TEXT,
    region       TEXT NOT NULL,
    tags         TEXT NOT NULL,
    parent_id    BLOB,
    attempts     TEXT NOT NULL,
    reason       TEXT,
    cancel       TEXT,
    waits_for    BLOB,
    fairness_key TEXT,
    missed       INTEGER,
    notifies     INTEGER
) STRICT;
INSERT INTO runs_by_number (
    id, job_id, version, tenant, kind, state, queue, lane, priority, rank, exclusive, timeout_ms, scheduled_ms, due_ms, created_ms, token,
    attempt, lost, spec, overlap, expires_ms, begun_ms, claimed_ms, worker, region, tags, parent_id, attempts, reason, cancel, waits_for,
    fairness_key, missed, notifies
)
SELECT
    id, job_id, version, tenant, kind, state, queue, lane, priority, rank, exclusive, timeout_ms, scheduled_ms, due_ms, created_ms, token,
    attempt, lost, spec, overlap, expires_ms, begun_ms, claimed_ms, worker, region, tags, parent_id, attempts, reason, cancel, waits_for,
    fairness_key, missed, notifies
FROM runs
ORDER BY id;
DROP TABLE runs;
ALTER TABLE runs_by_number RENAME TO runs;

-- As they were, but that an index ends with the id only where it says so.
CREATE INDEX runs_ready ON runs (queue, lane, rank, id) WHERE state = 'ready';
CREATE INDEX runs_waiting ON runs (due_ms) WHERE state IN ('scheduled', 'retrying');
CREATE INDEX runs_running ON runs (worker) WHERE worker IS NOT NULL;
CREATE INDEX runs_held ON runs (job_id, id) WHERE state = 'held' AND waits_for IS NULL;
CREATE INDEX runs_waits_for ON runs (waits_for, rank, id) WHERE state = 'held' AND waits_for IS NOT NULL;
CREATE INDEX runs_job ON runs (job_id, id) WHERE job_id IS NOT NULL;
CREATE INDEX runs_cancel ON runs (id) WHERE cancel IS NOT NULL;
CREATE INDEX runs_expiring ON runs (expires_ms)
WHERE expires_ms IS NOT NULL AND attempt = 0 AND state IN ('scheduled', 'ready', 'held', 'retrying');
CREATE INDEX runs_missed ON runs (due_ms, id)
WHERE kind = 'scheduled' AND attempt = 0 AND state IN ('scheduled', 'ready') AND created_ms - scheduled_ms > 1000;
CREATE INDEX runs_notifies ON runs (id) WHERE notifies;
