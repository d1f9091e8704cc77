-- Execution: lanes, expiry, what runs tell of themselves, dead letters, paused queues, fleets, and secrets to sign with.

-- What the run's worker must have, as one text; empty where any worker will do.
ALTER TABLE runs ADD COLUMN lane TEXT NOT NULL DEFAULT '';
-- When it is too late to start the run.
ALTER TABLE runs ADD COLUMN expires_ms INTEGER;
-- When the first attempt of the run was claimed, once there was a second.
ALTER TABLE runs ADD COLUMN begun_ms INTEGER;
-- Claiming: one ordered scan per queue and lane.
DROP INDEX runs_ready;
CREATE INDEX runs_ready ON runs (queue, lane, rank, id) WHERE state = 'ready';
-- Runs that were never tried, by when they expire. Runs that do not expire pay a comparison and no entry.
CREATE INDEX runs_expiring ON runs (expires_ms)
WHERE expires_ms IS NOT NULL AND attempt = 0 AND state IN ('scheduled', 'ready', 'held', 'retrying');

-- What runs under way told of themselves, apart from `runs`, so that telling often does not rewrite the rows that claims look at. Ends of
-- runs leave rows behind for the sweeper.
CREATE TABLE run_progress (
    run_id     BLOB PRIMARY KEY,
    checkpoint TEXT,
    progress   REAL,
    note       TEXT,
    updated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Failed runs that nobody has dealt with, written with their ends; the rest of them is in `history`. A tenant's lie together, in the order
-- of their pages. Runs that failed before there was this table are not in it.
CREATE TABLE dead_letters (
    tenant    TEXT NOT NULL,
    run_id    BLOB NOT NULL,
    job_id    BLOB,
    queue     TEXT NOT NULL,
    reason    TEXT,
    failed_ms INTEGER NOT NULL,
    PRIMARY KEY (tenant, run_id)
) STRICT, WITHOUT ROWID;

-- Queues from which nothing is given to workers.
CREATE TABLE queue_pauses (
    queue    TEXT PRIMARY KEY,
    note     TEXT,
    since_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What a worker serves, kept as tags are; no queues are all queues.
ALTER TABLE nodes ADD COLUMN queues TEXT NOT NULL DEFAULT '';
ALTER TABLE nodes ADD COLUMN labels TEXT NOT NULL DEFAULT '';
-- How many runs the process may execute at once, and how many it did at its last beat.
ALTER TABLE nodes ADD COLUMN slots INTEGER NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN busy INTEGER NOT NULL DEFAULT 0;
-- Whether somebody asked the process to drain; `draining` is what it says itself.
ALTER TABLE nodes ADD COLUMN drain_asked INTEGER NOT NULL DEFAULT 0;
-- When the process last beat.
ALTER TABLE nodes ADD COLUMN beat_ms INTEGER NOT NULL DEFAULT 0;

-- What calls of a tenant are signed with. The previous secret stays while receivers learn the current one.
CREATE TABLE signing_secrets (
    tenant     TEXT PRIMARY KEY,
    current    TEXT NOT NULL,
    previous   TEXT,
    rotated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
