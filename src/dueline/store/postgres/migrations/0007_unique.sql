-- Unique runs: which run has a dedupe key.

-- A key is free when its run is neither live nor ended within its window, which is until until_ms; a row of a free key means nothing.
-- taken_ms is when the run was written. sweep_ms, never before until_ms, is when somebody looks whether the row can go. Texts are in the same
-- order whatever the locale of the database, because locks are taken in it.
CREATE TABLE dueline.uniques (
    tenant   text COLLATE "C" NOT NULL,
    key      text COLLATE "C" NOT NULL,
    run_id   uuid NOT NULL,
    taken_ms bigint NOT NULL,
    until_ms bigint NOT NULL,
    sweep_ms bigint NOT NULL,
    PRIMARY KEY (tenant, key)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
-- What to look at next.
CREATE INDEX uniques_sweep ON dueline.uniques (sweep_ms);
