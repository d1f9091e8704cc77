-- Time: schedules of every shape, calendars, what became of every occurrence, and runs that are asked to end.

-- When the current version came into force. Of jobs that are older than this column, the last change is the best that is known. The
-- table is written anew, which takes a quarter of the time of an UPDATE and leaves nothing dead behind.
ALTER TABLE dueline.jobs ADD COLUMN since_ms bigint;
ALTER TABLE dueline.jobs ALTER COLUMN since_ms TYPE bigint USING updated_ms, ALTER COLUMN since_ms SET NOT NULL;

-- When a replaced version had come into force; 0 where nobody kept it.
ALTER TABLE dueline.job_versions ADD COLUMN since_ms bigint NOT NULL DEFAULT 0;
ALTER TABLE dueline.job_versions ALTER COLUMN since_ms DROP DEFAULT;

-- next_ms is still the first occurrence nobody has decided about, and due_ms now the first one that fires; it is null while the job is
-- paused. A schedule that counts from the end of a run has neither while it is awaiting that run, and goes on delay_ms after it.
-- runs_left is null where as many run as come. A zoned plan depends on the rules of a time zone; a stale one must be looked at again.
ALTER TABLE dueline.plans
    ALTER COLUMN next_ms DROP NOT NULL,
    ADD COLUMN awaiting uuid,
    ADD COLUMN runs_left integer,
    ADD COLUMN delay_ms bigint,
    ADD COLUMN zoned boolean NOT NULL DEFAULT false,
    ADD COLUMN stale boolean NOT NULL DEFAULT false;
-- Only zones other than UTC are written into definitions. A payload may use the word too, which costs one look at its plan.
UPDATE dueline.plans AS p SET zoned = true FROM dueline.jobs AS j WHERE j.id = p.job_id AND strpos(j.definition, '"timezone":') > 0;
-- Plans that go on when a run ends.
CREATE INDEX plans_awaiting ON dueline.plans (awaiting) WHERE awaiting IS NOT NULL;
-- Plans that must be looked at again: as a rule none.
CREATE INDEX plans_stale ON dueline.plans (shard) WHERE stale;

-- overlap is the run's own policy, where it is not its job's; cancel is why it is to be ended, once somebody asked for that.
ALTER TABLE dueline.runs ADD COLUMN overlap text, ADD COLUMN cancel text;
-- Runs that are to be ended: few, and found without a look at the others.
CREATE INDEX runs_cancel ON dueline.runs (worker) WHERE cancel IS NOT NULL;
-- Unstarted runs of occurrences that may have been missed, for the recovery from an outage. A run is written ahead of its time, or at
-- once: of those written a second behind it, the query picks the missed ones. All others pay a comparison and no entry.
CREATE INDEX runs_missed ON dueline.runs (due_ms)
WHERE created_ms - scheduled_ms > 1000 AND attempt = 0 AND kind = 'scheduled' AND state IN ('scheduled', 'ready');

-- The version of the time zones' rules by which the plans of the shard were made; it is compared as text.
ALTER TABLE dueline.shards ADD COLUMN tzdata text COLLATE "C" NOT NULL DEFAULT '';

-- Occurrences that became no runs: stretches of one verdict, inclusive at both ends, that never overlap. version is whose they were.
CREATE TABLE dueline.ledger (
    job_id  uuid NOT NULL,
    from_ms bigint NOT NULL,
    to_ms   bigint NOT NULL,
    version integer NOT NULL,
    verdict text NOT NULL,
    reason  text,
    PRIMARY KEY (job_id, from_ms)
);

-- Days that schedules keep off, by the name that a tenant gave them. The version grows with every change. Names are in the same order
-- whatever the locale of the database.
CREATE TABLE dueline.calendars (
    tenant     text NOT NULL,
    name       text COLLATE "C" NOT NULL,
    calendar   text NOT NULL,
    version    integer NOT NULL,
    updated_ms bigint NOT NULL,
    PRIMARY KEY (tenant, name)
);

-- Which living jobs name a calendar, whether it exists or not: their plans follow when it changes.
CREATE TABLE dueline.calendar_uses (
    tenant text NOT NULL,
    name   text COLLATE "C" NOT NULL,
    job_id uuid NOT NULL,
    PRIMARY KEY (tenant, name, job_id)
);
