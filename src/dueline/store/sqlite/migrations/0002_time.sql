-- Time: schedules of every shape, calendars, what became of every occurrence, and runs that are asked to end.

-- When the current version came into force. Of jobs that are older than this column, the last change is the best that is known.
ALTER TABLE jobs ADD COLUMN since_ms INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET since_ms = updated_ms;

-- When a replaced version had come into force; 0 where nobody kept it.
ALTER TABLE job_versions ADD COLUMN since_ms INTEGER NOT NULL DEFAULT 0;

-- The moving part of a schedule, kept narrow. next_ms is the first occurrence nobody has decided about; due_ms is the first one that
-- fires, and is null while the job is paused. A schedule that counts from the end of a run has neither while it is awaiting that run,
-- and goes on delay_ms after it. runs_left is null where as many run as come. zoned plans depend on the rules of a time zone; stale ones
-- must be looked at again. An exhausted schedule has no row.
CREATE TABLE plans_of_time (
    job_id     BLOB PRIMARY KEY,
    shard      INTEGER NOT NULL,
    version    INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    next_ms    INTEGER,
    due_ms     INTEGER,
    awaiting   BLOB,
    runs_left  INTEGER,
    delay_ms   INTEGER,
    zoned      INTEGER NOT NULL DEFAULT 0,
    stale      INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
INSERT INTO plans_of_time (job_id, shard, version, generation, next_ms, due_ms, zoned)
SELECT
    p.job_id, p.shard, p.version, p.generation, p.next_ms, p.due_ms,
    coalesce((SELECT j.definition ->> '$.schedule.timezone' FROM jobs AS j WHERE j.id = p.job_id), 'UTC') <> 'UTC'
FROM plans AS p
ORDER BY p.job_id;
DROP TABLE plans;
ALTER TABLE plans_of_time RENAME TO plans;
-- The only way due work is found. One process owns the file, and so as a rule all shards: one ordered scan serves them all.
CREATE INDEX plans_due ON plans (due_ms, shard) WHERE due_ms IS NOT NULL;
-- Plans that go on when a run ends.
CREATE INDEX plans_awaiting ON plans (awaiting) WHERE awaiting IS NOT NULL;
-- Plans that must be looked at again: as a rule none.
CREATE INDEX plans_stale ON plans (shard) WHERE stale;
-- Plans to look at again when the rules of the time zones change. No firing touches it.
CREATE INDEX plans_zoned ON plans (shard) WHERE zoned;

-- A run's own overlap policy, where it is not its job's.
ALTER TABLE runs ADD COLUMN overlap TEXT;
-- Why the run is to be ended, once somebody asked for that.
ALTER TABLE runs ADD COLUMN cancel TEXT;
-- Runs that are to be ended: few, and found without a look at the others. It holds nothing that moves, so no claim or end pays for it.
CREATE INDEX runs_cancel ON runs (id) WHERE cancel IS NOT NULL;
-- Unstarted runs of occurrences that may have been missed, for the recovery from an outage. A run is written ahead of its time, or at
-- once: of those written a second behind it, the query picks the missed ones. All others pay a comparison and no entry.
CREATE INDEX runs_missed ON runs (due_ms)
WHERE kind = 'scheduled' AND attempt = 0 AND state IN ('scheduled', 'ready') AND created_ms - scheduled_ms > 1000;

-- The version of the time zones' rules by which the plans of the shard were made.
ALTER TABLE shards ADD COLUMN tzdata TEXT NOT NULL DEFAULT '';

-- Occurrences that became no runs: stretches of one verdict, inclusive at both ends, that never overlap. version is whose they were.
CREATE TABLE ledger (
    job_id  BLOB NOT NULL,
    from_ms INTEGER NOT NULL,
    to_ms   INTEGER NOT NULL,
    version INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    reason  TEXT,
    PRIMARY KEY (job_id, from_ms)
) STRICT, WITHOUT ROWID;

-- Days that schedules keep off, by the name that a tenant gave them. The version grows with every change.
CREATE TABLE calendars (
    tenant     TEXT NOT NULL,
    name       TEXT NOT NULL,
    calendar   TEXT NOT NULL,
    version    INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) STRICT, WITHOUT ROWID;

-- Which living jobs name a calendar, whether it exists or not: their plans follow when it changes.
CREATE TABLE calendar_uses (
    tenant TEXT NOT NULL,
    name   TEXT NOT NULL,
    job_id BLOB NOT NULL,
    PRIMARY KEY (tenant, name, job_id)
) STRICT, WITHOUT ROWID;
