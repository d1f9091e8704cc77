-- Unique runs: which run has a dedupe key.

-- A key is free when its run is neither live nor ended within its window, which is until until_ms; a row of a free key means nothing.
-- taken_ms is when the run was written. sweep_ms, never before until_ms, is when somebody looks whether the row can go.
CREATE TABLE uniques (
    tenant   TEXT NOT NULL,
    key      TEXT NOT NULL,
    run_id   BLOB NOT NULL,
    taken_ms INTEGER NOT NULL,
    until_ms INTEGER NOT NULL,
    sweep_ms INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
-- What to look at next.
CREATE INDEX uniques_sweep ON uniques (sweep_ms);
