-- Finished runs of a job, as before. An index that has the ids of all invites a planner that takes the table for empty, because it was
-- vacuumed while it was, to look through all of it for one run whose id it was given; this one it takes only when asked about jobs. Runs
-- without a job pay nothing for it.
DROP INDEX dueline.history_job;
CREATE INDEX history_job ON dueline.history (job_id, id) WHERE job_id IS NOT NULL;
