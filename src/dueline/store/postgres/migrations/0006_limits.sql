-- Limits: how many runs may be under way at once, and how many may start in a time.

-- The gate that a held run waits for, null where it waits for something else or not at all.
ALTER TABLE dueline.runs ADD COLUMN waits_for uuid;
-- Who is next at a gate.
CREATE INDEX runs_waits_for ON dueline.runs (waits_for, rank, id) WHERE state = 'held' AND waits_for IS NOT NULL;
-- Runs that wait for another of their job: those that wait at gates may be many, and are not looked at here.
DROP INDEX dueline.runs_held;
CREATE INDEX runs_held ON dueline.runs (job_id, id) WHERE state = 'held' AND waits_for IS NULL;

-- Gates that runs have come to, and what they let through by the latest word (as_of). full_us is when the bucket of the rate would be full
-- again, refill_ms when those who wait for a token should be looked at, null where nobody does. A row that nobody needs is forgotten.
CREATE TABLE dueline.gates (
    gate        uuid PRIMARY KEY,
    scope       text NOT NULL,
    tenant      text NOT NULL,
    name        text NOT NULL,
    as_of       bigint NOT NULL,
    most        integer,
    interval_us bigint,
    burst       integer NOT NULL,
    full_us     bigint NOT NULL,
    refill_ms   bigint,
    seen_ms     bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX gates_refill ON dueline.gates (refill_ms) WHERE refill_ms IS NOT NULL;

-- Which runs under way have passed which gates. A row here stands for a run, never for a count.
CREATE TABLE dueline.gate_places (
    gate   uuid NOT NULL,
    run_id uuid NOT NULL,
    PRIMARY KEY (gate, run_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX gate_places_run ON dueline.gate_places (run_id);

-- What is set for queues and hosts; what is set for jobs is in their definitions. A rate has all three of its fields, or none.
CREATE TABLE dueline.limits (
    scope       text COLLATE "C" NOT NULL,
    name        text COLLATE "C" NOT NULL,
    most        integer,
    rate_count  integer,
    period_ms   bigint,
    burst       integer,
    updated_ms  bigint NOT NULL,
    PRIMARY KEY (scope, name)
);

-- What a tenant may have and do, as JSON; null where nothing was set.
ALTER TABLE dueline.tenants ADD COLUMN quotas text;
