-- Dispatch: whose turn it is in every line.

-- What a run shares its tenant's turns by, and whether its occurrence was missed; null as a rule. A waiting run has no rank yet: it gets
-- one when it becomes ready, by these. From here on ranks are places in a line, and no times.
ALTER TABLE runs ADD COLUMN fairness_key TEXT;
ALTER TABLE runs ADD COLUMN missed INTEGER;

-- Where the last run of each flow that may still wait ends in its line, and what its latest runs took. The row without a tenant and a level is the line's own: its virtual
-- time is never before that. A line without such a row has to learn from its ready runs what waits in it.
CREATE TABLE flows (
    queue  TEXT NOT NULL,
    lane   TEXT NOT NULL,
    tenant TEXT NOT NULL,
    level  TEXT NOT NULL,
    key    TEXT NOT NULL,
    finish INTEGER NOT NULL,
    added  INTEGER NOT NULL,
    PRIMARY KEY (queue, lane, tenant, level, key)
) STRICT, WITHOUT ROWID;
-- Where a line ends, and what it has passed.
CREATE INDEX flows_finish ON flows (queue, lane, finish) WHERE level <> '';

-- What is set for tenants; one without a row has all defaults.
CREATE TABLE tenants (
    tenant     TEXT PRIMARY KEY,
    weight     REAL NOT NULL,
    updated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
