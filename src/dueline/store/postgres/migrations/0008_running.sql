-- What a vanished worker held, as before. An index of what is running invites a planner that knows nothing of the table to look through all of
-- that for a few runs whose ids it was given; this one it takes only when asked about workers.
DROP INDEX dueline.runs_running;
CREATE INDEX runs_running ON dueline.runs (worker) WHERE worker IS NOT NULL;
