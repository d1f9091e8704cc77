-- What a vanished worker held: whoever has a worker is running.
DROP INDEX runs_running;
CREATE INDEX runs_running ON runs (worker) WHERE worker IS NOT NULL;
