-- Fleets: what workers can carry out, what they take from queues, and the types of jobs that they offer.

-- Names of the tasks that a worker can carry out, kept as tags are.
ALTER TABLE nodes ADD COLUMN tasks TEXT NOT NULL DEFAULT '';
-- As JSON, by queue: how many runs per second the worker took lately, as of its last beat.
ALTER TABLE nodes ADD COLUMN rates TEXT NOT NULL DEFAULT '{}';

-- Tasks that some worker said to have, as jobs name them; parameters is a JSON Schema of their arguments. Every worker writes its own again
-- and again, and a type that nobody wrote for long is forgotten.
CREATE TABLE job_types (
    name        TEXT PRIMARY KEY,
    queue       TEXT NOT NULL,
    description TEXT,
    parameters  TEXT NOT NULL,
    seen_ms     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
