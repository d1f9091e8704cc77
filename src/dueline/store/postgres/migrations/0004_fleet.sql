-- Fleets: what workers can carry out, what they take from queues, and the types of jobs that they offer.

-- Names of the tasks that a worker can carry out; and as JSON, by queue, how many runs per second it took lately, as of its last beat.
ALTER TABLE dueline.nodes
    ADD COLUMN tasks text[] NOT NULL DEFAULT '{}',
    ADD COLUMN rates text NOT NULL DEFAULT '{}';

-- Tasks that some worker said to have, as jobs name them; parameters is a JSON Schema of their arguments. Every worker writes its own again
-- and again, and a type that nobody wrote for long is forgotten. Names are in the same order whatever the locale of the database.
CREATE TABLE dueline.job_types (
    name        text COLLATE "C" PRIMARY KEY,
    queue       text NOT NULL,
    description text,
    parameters  text NOT NULL,
    seen_ms     bigint NOT NULL
) WITH (fillfactor = 50);
