-- How long jobs and their runs are kept.

-- Jobs that keep their finished runs for less time than others do. How long that is stands in the job's definition alone. look_ms is when to
-- look next whether some are too old; null: there is nothing to look for any more. from_id is how far a look has come that is under way.
-- swept_ms: what ended before it may be gone.
CREATE TABLE retentions (
    job_id   BLOB PRIMARY KEY,
    look_ms  INTEGER,
    from_id  BLOB,
    swept_ms INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
-- Whose turn it is.
CREATE INDEX retentions_look ON retentions (look_ms) WHERE look_ms IS NOT NULL;

-- Living jobs that have finished, those first that did so first.
CREATE INDEX jobs_finished ON jobs (updated_ms, id) WHERE state = 'finished' AND deleted_ms IS NULL;
