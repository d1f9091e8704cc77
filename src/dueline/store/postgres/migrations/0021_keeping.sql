-- How long jobs and their runs are kept.

-- Jobs that keep their finished runs for less time than others do. How long that is stands in the job's definition alone. look_ms is when to
-- look next whether some are too old; null: there is nothing to look for any more. from_id is how far a look has come that is under way.
-- swept_ms: what ended before it may be gone.
CREATE TABLE dueline.retentions (
    job_id   uuid PRIMARY KEY,
    look_ms  bigint,
    from_id  uuid,
    swept_ms bigint NOT NULL DEFAULT 0
);
-- Whose turn it is.
CREATE INDEX retentions_look ON dueline.retentions (look_ms) WHERE look_ms IS NOT NULL;

-- Living jobs that have finished, those first that did so first.
CREATE INDEX jobs_finished ON dueline.jobs (updated_ms, id) WHERE state = 'finished' AND deleted_ms IS NULL;
