-- Dispatch: whose turn it is in every line.

-- fairness_key is what a run shares its tenant's turns by, missed whether its occurrence was; both are null as a rule. A waiting run has no
-- rank yet: it gets one when it becomes ready, by these. From here on ranks are places in a line, and no times.
ALTER TABLE dueline.runs ADD COLUMN fairness_key text, ADD COLUMN missed boolean;

-- Where the last run of each flow that may still wait ends in its line; added is what its latest runs took, and reserved_ms when they took
-- it: for a while they may not be there yet. The row without a tenant and a level is the line's own: its virtual time is never before that.
-- A line without such a row has to learn from its ready runs what waits in it. The names are in the same order whatever the locale of the
-- database, because locks are taken in it.
CREATE TABLE dueline.flows (
    queue       text COLLATE "C" NOT NULL,
    lane        text COLLATE "C" NOT NULL,
    tenant      text COLLATE "C" NOT NULL,
    level       text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    finish      bigint NOT NULL,
    added       bigint NOT NULL,
    reserved_ms bigint NOT NULL,
    PRIMARY KEY (queue, lane, tenant, level, key)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
-- Where a line ends, and what it has passed.
CREATE INDEX flows_finish ON dueline.flows (queue, lane, finish) WHERE level <> '';

-- What is set for tenants; one without a row has all defaults.
CREATE TABLE dueline.tenants (
    tenant     text COLLATE "C" PRIMARY KEY,
    weight     double precision NOT NULL,
    updated_ms bigint NOT NULL
);
