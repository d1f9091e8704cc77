-- The foundation: jobs and their plans, runs and their history, processes and the shards they own.
-- Instants are milliseconds since 1970 UTC, on this server's clock.

CREATE FUNCTION dueline.now_ms() RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
AS 'SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint';

-- What people asked for, at its current version. The generation grows with every change, the version with a new definition only. A deleted job stays as a tombstone: its runs still point here.
CREATE TABLE dueline.jobs (
    id          uuid PRIMARY KEY,
    tenant      text NOT NULL,
    name        text NOT NULL,
    state       text NOT NULL,
    version     integer NOT NULL,
    generation  integer NOT NULL,
    queue       text NOT NULL,
    region      text NOT NULL,
    target_type text NOT NULL,
    tags        text[] NOT NULL,
    definition  text NOT NULL,
    pause_note  text,
    created_ms  bigint NOT NULL,
    updated_ms  bigint NOT NULL,
    deleted_ms  bigint
);
-- A name is unique among the living jobs of a tenant; C collation lets the same index answer prefixes.
CREATE UNIQUE INDEX jobs_name ON dueline.jobs (tenant, name COLLATE "C") WHERE deleted_ms IS NULL;
-- Pages of a tenant's jobs, newest first.
CREATE INDEX jobs_page ON dueline.jobs (tenant, id) WHERE deleted_ms IS NULL;
CREATE INDEX jobs_tags ON dueline.jobs USING gin (tags) WHERE deleted_ms IS NULL;

-- Versions that were replaced; runs that pin them find them here.
CREATE TABLE dueline.job_versions (
    job_id     uuid NOT NULL,
    version    integer NOT NULL,
    definition text NOT NULL,
    PRIMARY KEY (job_id, version)
);

-- The moving part of a schedule, kept narrow. next_ms is the first occurrence nobody has decided about; due_ms is when the scheduler
-- must act on it, and is null while the job is paused. An exhausted schedule has no row.
CREATE TABLE dueline.plans (
    job_id     uuid PRIMARY KEY,
    shard      smallint NOT NULL,
    version    integer NOT NULL,
    generation integer NOT NULL,
    next_ms    bigint NOT NULL,
    due_ms     bigint
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
-- The only way due work is found.
CREATE INDEX plans_due ON dueline.plans (shard, due_ms) WHERE due_ms IS NOT NULL;

-- Live runs only: a finished run leaves for history, so that this table stays small and hot.
CREATE TABLE dueline.runs (
    id           uuid PRIMARY KEY,
    job_id       uuid,
    version      integer,
    tenant       text NOT NULL,
    kind         text NOT NULL,
    state        text NOT NULL,
    queue        text NOT NULL,
    priority     smallint NOT NULL,
    rank         bigint NOT NULL,
    region       text NOT NULL,
    exclusive    boolean NOT NULL,
    timeout_ms   integer NOT NULL,
    scheduled_ms bigint NOT NULL,
    due_ms       bigint NOT NULL,
    created_ms   bigint NOT NULL,
    claimed_ms   bigint,
    worker       text,
    token        bigint NOT NULL,
    attempt      integer NOT NULL,
    lost         integer NOT NULL,
    reason       text,
    tags         text[] NOT NULL,
    parent_id    uuid,
    spec         text,
    attempts     text NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2);
-- Claiming: one ordered scan per queue.
CREATE INDEX runs_ready ON dueline.runs (queue, rank, id) WHERE state = 'ready';
-- Retries and delayed runs, by when they are due.
CREATE INDEX runs_waiting ON dueline.runs (due_ms) WHERE state IN ('scheduled', 'retrying');
-- What a vanished worker held.
CREATE INDEX runs_running ON dueline.runs (worker) WHERE state = 'running';
-- Runs that wait for another of their job, first come first: found without a look at the whole backlog.
CREATE INDEX runs_held ON dueline.runs (job_id, id) WHERE state = 'held';
-- A job's live runs, for edits, overlap and listing.
CREATE INDEX runs_job ON dueline.runs (job_id, id) WHERE job_id IS NOT NULL;

-- Which run of a job with an exclusive overlap policy is under way. A row here stands for a live run, never for a count.
CREATE TABLE dueline.places (
    job_id uuid PRIMARY KEY,
    run_id uuid NOT NULL
) WITH (fillfactor = 50);

-- Finished runs, one partition a day. The id begins with the scheduled time, so it alone says which partition.
CREATE TABLE dueline.history (
    id           uuid PRIMARY KEY,
    job_id       uuid,
    version      integer,
    tenant       text NOT NULL,
    kind         text NOT NULL,
    state        text NOT NULL,
    queue        text NOT NULL,
    priority     smallint NOT NULL,
    region       text NOT NULL,
    scheduled_ms bigint NOT NULL,
    due_ms       bigint NOT NULL,
    created_ms   bigint NOT NULL,
    claimed_ms   bigint,
    started_ms   bigint,
    finished_ms  bigint NOT NULL,
    worker       text,
    attempt      integer NOT NULL,
    lost         integer NOT NULL,
    reason       text,
    tags         text[] NOT NULL,
    parent_id    uuid,
    spec         text,
    attempts     text NOT NULL
) PARTITION BY RANGE (id);
CREATE INDEX history_job ON dueline.history (job_id, id);
-- Runs of days that have no partition yet, or no longer: rare, and never lost.
CREATE TABLE dueline.history_other PARTITION OF dueline.history DEFAULT;

CREATE FUNCTION dueline.add_history_day(day_ms bigint) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    partition text := 'history_' || to_char(to_timestamp(day_ms / 1000) AT TIME ZONE 'UTC', 'YYYYMMDD');
    low text := lpad(to_hex(day_ms), 12, '0') || repeat('0', 20);
    high text := lpad(to_hex(day_ms + 86400000), 12, '0') || repeat('0', 20);
BEGIN
    -- Several processes make room at the same time; the number is the letters of "history".
    PERFORM pg_advisory_xact_lock(29389342173524601);
    IF to_regclass('dueline.' || partition) IS NULL THEN
        EXECUTE format('CREATE TABLE dueline.%I (LIKE dueline.history INCLUDING DEFAULTS)', partition);
        -- Attaching, unlike creating in place, does not lock out readers and writers of the other days.
        EXECUTE format('ALTER TABLE dueline.history ATTACH PARTITION dueline.%I FOR VALUES FROM (%L) TO (%L)', partition, low, high);
    END IF;
END
$body$;

-- Processes that schedule or work: one row each, renewed by a heartbeat.
CREATE TABLE dueline.nodes (
    boot_id    text PRIMARY KEY,
    role       text NOT NULL,
    host       text NOT NULL,
    pid        integer NOT NULL,
    version    text NOT NULL,
    beat       bigint NOT NULL,
    started_ms bigint NOT NULL,
    expires_ms bigint NOT NULL,
    draining   boolean NOT NULL
) WITH (fillfactor = 50);

-- Who may fire the jobs of a shard. The epoch only grows; a write with an old one is refused.
CREATE TABLE dueline.shards (
    shard smallint PRIMARY KEY,
    epoch bigint NOT NULL,
    owner text
) WITH (fillfactor = 20);
INSERT INTO dueline.shards SELECT shard, 0, NULL FROM generate_series(0, 255) AS shard;
