-- Quotas: how long finished runs are kept.

-- What is too old, in the order in which it ended: rows are added at the end of it.
CREATE INDEX history_finished ON history (finished_ms);

-- Up to when finished runs are gone: those of a tenant, or of all where it has no name.
CREATE TABLE history_sweeps (
    tenant   TEXT PRIMARY KEY,
    swept_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
