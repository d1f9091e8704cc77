-- What is too old is found by its age.

-- Deleted jobs, those first that were deleted first.
CREATE INDEX jobs_deleted ON jobs (deleted_ms, id) WHERE deleted_ms IS NOT NULL;

-- What was told of occurrences, by the last of them.
CREATE INDEX ledger_told ON ledger (to_ms);
