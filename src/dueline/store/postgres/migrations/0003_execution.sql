-- Execution: lanes, expiry, checkpoints, dead letters, queues that are paused, what processes tell of themselves, and signing secrets.

-- lane is what a worker must have to execute the run, '' where anyone may. expires_ms is when it is too late to start it, null where it
-- never is. begun_ms is when its first attempt was claimed, null until that has ended. None of them is copied to history.
ALTER TABLE dueline.runs
    ADD COLUMN lane text NOT NULL DEFAULT '',
    ADD COLUMN expires_ms bigint,
    ADD COLUMN begun_ms bigint;
-- Claiming: one ordered scan per queue and lane, however many runs wait for workers of other lanes.
DROP INDEX dueline.runs_ready;
CREATE INDEX runs_ready ON dueline.runs (queue, lane, rank, id) WHERE state = 'ready';
-- Unstarted runs that can come too late. Those that cannot pay a comparison and no entry.
CREATE INDEX runs_expiring ON dueline.runs (expires_ms)
WHERE expires_ms IS NOT NULL AND attempt = 0 AND state IN ('scheduled', 'ready', 'held', 'retrying');

-- What runs under way told of themselves last: from where a next attempt may go on, how far they are (0 to 1) and in which words. Apart
-- from runs, because it is written often and may be large. A row whose run is not live means nothing, and is swept.
CREATE TABLE dueline.run_progress (
    run_id     uuid PRIMARY KEY,
    checkpoint text,
    progress   double precision,
    note       text,
    updated_ms bigint NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

-- Failed runs that nobody has dealt with, written by whatever ends a run as failed. The run itself is in history; what is repeated here
-- is what dead letters are searched by.
CREATE TABLE dueline.dead_letters (
    run_id    uuid PRIMARY KEY,
    tenant    text NOT NULL,
    job_id    uuid,
    queue     text NOT NULL,
    reason    text,
    failed_ms bigint NOT NULL
);
-- Pages of a tenant's dead letters, latest scheduled first.
CREATE INDEX dead_letters_page ON dueline.dead_letters (tenant, run_id);

-- Queues that give no runs to workers, each with what somebody noted, and since when: as a rule none.
CREATE TABLE dueline.queue_pauses (
    queue    text PRIMARY KEY,
    note     text,
    since_ms bigint NOT NULL
);

-- What a worker serves (no queues: all of them), what it has for runs that require it, and how many runs it may have and has; whether
-- somebody asked it to drain; and when it last beat. Processes of before this column have never beaten by it.
ALTER TABLE dueline.nodes
    ADD COLUMN queues text[] NOT NULL DEFAULT '{}',
    ADD COLUMN labels text[] NOT NULL DEFAULT '{}',
    ADD COLUMN slots integer NOT NULL DEFAULT 0,
    ADD COLUMN busy integer NOT NULL DEFAULT 0,
    ADD COLUMN drain_asked boolean NOT NULL DEFAULT false,
    ADD COLUMN beat_ms bigint NOT NULL DEFAULT 0;

-- What a tenant's calls are signed with. The previous secret is kept while receivers learn the current one; the first has none.
CREATE TABLE dueline.signing_secrets (
    tenant     text PRIMARY KEY,
    current    text NOT NULL,
    previous   text,
    rotated_ms bigint NOT NULL
);
