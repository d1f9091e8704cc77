-- Limits: how many runs may be under way at once, and how many may start in a time.

-- The gate that a held run waits for, null where it waits for something else or not at all.
ALTER TABLE runs ADD COLUMN waits_for BLOB;
-- Who is next at a gate.
CREATE INDEX runs_waits_for ON runs (waits_for, rank, id) WHERE state = 'held' AND waits_for IS NOT NULL;
-- Runs that wait for another of their job: those that wait at gates may be many, and are not looked at here.
DROP INDEX runs_held;
CREATE INDEX runs_held ON runs (job_id, id) WHERE state = 'held' AND waits_for IS NULL;

-- Gates that runs have come to, and what they let through by the latest word (as_of). full_us is when the bucket of the rate would be full
-- again, refill_ms when those who wait for a token should be looked at, null where nobody does. A row that nobody needs is forgotten.
CREATE TABLE gates (
    gate        BLOB PRIMARY KEY,
    scope       TEXT NOT NULL,
    tenant      TEXT NOT NULL,
    name        TEXT NOT NULL,
    as_of       INTEGER NOT NULL,
    most        INTEGER,
    interval_us INTEGER,
    burst       INTEGER NOT NULL,
    full_us     INTEGER NOT NULL,
    refill_ms   INTEGER,
    seen_ms     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX gates_refill ON gates (refill_ms) WHERE refill_ms IS NOT NULL;

-- Which runs under way have passed which gates. A row here stands for a run, never for a count.
CREATE TABLE gate_places (
    gate   BLOB NOT NULL,
    run_id BLOB NOT NULL,
    PRIMARY KEY (gate, run_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX gate_places_run ON gate_places (run_id);

-- What is set for queues and hosts; what is set for jobs is in their definitions. A rate has all three of its fields, or none.
CREATE TABLE limits (
    scope      TEXT NOT NULL,
    name       TEXT NOT NULL,
    most       INTEGER,
    rate_count INTEGER,
    period_ms  INTEGER,
    burst      INTEGER,
    updated_ms INTEGER NOT NULL,
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;

-- What a tenant may have and do, as JSON; null where nothing was set.
ALTER TABLE tenants ADD COLUMN quotas TEXT;
