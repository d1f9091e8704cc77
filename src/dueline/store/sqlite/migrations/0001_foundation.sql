-- The foundation: jobs and their plans, runs and their history, processes and the shards they own.
-- Instants are milliseconds since 1970 UTC, on the clock of the process that owns the file. Ids are their 16 raw bytes. Tags are one
-- text with U+001F before, between and after them, so that one tag can be looked for exactly; no tags are an empty text.
-- Tables keyed by an id have no rowid: rows lie in the order of time, and every index entry leads to its row in one step.

-- What people asked for, at its current version. The generation grows with every change, the version with a new definition only. A deleted job stays as a tombstone: its runs still point here.
CREATE TABLE jobs (
    id          BLOB NOT NULL PRIMARY KEY,
    tenant      TEXT NOT NULL,
    name        TEXT NOT NULL,
    state       TEXT NOT NULL,
    version     INTEGER NOT NULL,
    generation  INTEGER NOT NULL,
    queue       TEXT NOT NULL,
    region      TEXT NOT NULL,
    target_type TEXT NOT NULL,
    tags        TEXT NOT NULL,
    definition  TEXT NOT NULL,
    pause_note  TEXT,
    created_ms  INTEGER NOT NULL,
    updated_ms  INTEGER NOT NULL,
    deleted_ms  INTEGER
) STRICT;
-- A name is unique among the living jobs of a tenant.
CREATE UNIQUE INDEX jobs_name ON jobs (tenant, name) WHERE deleted_ms IS NULL;
-- Pages of a tenant's jobs, newest first.
CREATE INDEX jobs_page ON jobs (tenant, id) WHERE deleted_ms IS NULL;

-- Versions that were replaced; runs that pin them find them here.
CREATE TABLE job_versions (
    job_id     BLOB NOT NULL,
    version    INTEGER NOT NULL,
    definition TEXT NOT NULL,
    PRIMARY KEY (job_id, version)
) STRICT;

-- The moving part of a schedule, kept narrow. next_ms is the first occurrence nobody has decided about; due_ms is when the scheduler
-- must act on it, and is null while the job is paused. An exhausted schedule has no row.
CREATE TABLE plans (
    job_id     BLOB PRIMARY KEY,
    shard      INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    next_ms    INTEGER NOT NULL,
    due_ms     INTEGER
) STRICT, WITHOUT ROWID;
-- The only way due work is found. One process owns the file, and so as a rule all shards: one ordered scan serves them all.
CREATE INDEX plans_due ON plans (due_ms, shard) WHERE due_ms IS NOT NULL;

-- Live runs only: a finished run leaves for history, so that this table stays small and hot.
CREATE TABLE runs (
    id           BLOB PRIMARY KEY,
    job_id       BLOB,
    version      INTEGER,
    tenant       TEXT NOT NULL,
    kind         TEXT NOT NULL,
    state        TEXT NOT NULL,
    queue        TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    rank         INTEGER NOT NULL,
    region       TEXT NOT NULL,
    exclusive    INTEGER NOT NULL,
    timeout_ms   INTEGER NOT NULL,
    scheduled_ms INTEGER NOT NULL,
    due_ms       INTEGER NOT NULL,
    created_ms   INTEGER NOT NULL,
    claimed_ms   INTEGER,
    worker       TEXT,
    token        INTEGER NOT NULL,
    attempt      INTEGER NOT NULL,
    lost         INTEGER NOT NULL,
    reason       TEXT,
    tags         TEXT NOT NULL,
    parent_id    BLOB,
    spec         TEXT,
    attempts     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- Claiming: one ordered scan per queue.
CREATE INDEX runs_ready ON runs (queue, rank, id) WHERE state = 'ready';
-- Retries and delayed runs, by when they are due.
CREATE INDEX runs_waiting ON runs (due_ms) WHERE state IN ('scheduled', 'retrying');
-- What a vanished worker held.
CREATE INDEX runs_running ON runs (worker) WHERE state = 'running';
-- Runs that wait for another of their job, first come first: found without a look at the whole backlog.
CREATE INDEX runs_held ON runs (job_id, id) WHERE state = 'held';
-- A job's live runs, for edits, overlap and listing.
CREATE INDEX runs_job ON runs (job_id, id) WHERE job_id IS NOT NULL;

-- Which run of a job with an exclusive overlap policy is under way. A row here stands for a live run, never for a count.
CREATE TABLE places (
    job_id BLOB PRIMARY KEY,
    run_id BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Finished runs. The id begins with the scheduled time, so rows are added near the end and days lie together.
CREATE TABLE history (
    id           BLOB PRIMARY KEY,
    job_id       BLOB,
    version      INTEGER,
    tenant       TEXT NOT NULL,
    kind         TEXT NOT NULL,
    state        TEXT NOT NULL,
    queue        TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    region       TEXT NOT NULL,
    scheduled_ms INTEGER NOT NULL,
    due_ms       INTEGER NOT NULL,
    created_ms   INTEGER NOT NULL,
    claimed_ms   INTEGER,
    started_ms   INTEGER,
    finished_ms  INTEGER NOT NULL,
    worker       TEXT,
    attempt      INTEGER NOT NULL,
    lost         INTEGER NOT NULL,
    reason       TEXT,
    tags         TEXT NOT NULL,
    parent_id    BLOB,
    spec         TEXT,
    attempts     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX history_job ON history (job_id, id);

-- Processes that schedule or work: one row each, renewed by a heartbeat.
CREATE TABLE nodes (
    boot_id    TEXT PRIMARY KEY,
    role       TEXT NOT NULL,
    host       TEXT NOT NULL,
    pid        INTEGER NOT NULL,
    version    TEXT NOT NULL,
    beat       INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,
    expires_ms INTEGER NOT NULL,
    draining   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Who may fire the jobs of a shard. The epoch only grows; a write with an old one is refused.
CREATE TABLE shards (
    shard INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    owner TEXT
) STRICT;
INSERT INTO shards (shard, epoch, owner)
WITH RECURSIVE numbers (shard) AS (SELECT 0 UNION ALL SELECT shard + 1 FROM numbers WHERE shard < 255)
SELECT shard, 0, NULL FROM numbers;
