-- What the second release left behind, besides what the first one had: a worker with a run in its hands, and runs in every other state.
INSERT INTO nodes (boot_id, role, host, pid, version, beat, started_ms, expires_ms, draining)
VALUES ('w9', 'worker', 'there', 9, '2', 3, 1767225540000, 1767225608000, 0);

INSERT INTO runs (
    id, job_id, version, tenant, kind, state, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms, created_ms,
    claimed_ms, worker, token, attempt, lost, reason, tags, parent_id, spec, attempts, overlap, cancel
)
VALUES
    (x'019b76da986075018501010101010101', NULL, NULL, 'default', 'adhoc', 'ready', 'second', 5, 1767225600001, '', 0, 30000, 1767225600000, 1767225600000, 1767225600000, NULL, NULL, 0, 0, 0, NULL, '', NULL, '{}', '', NULL, NULL),
    (x'019b76da986075028502020202020202', NULL, NULL, 'default', 'adhoc', 'ready', 'second', 5, 1767225600000, '', 0, 30000, 1767225600000, 1767225600000, 1767225600000, NULL, NULL, 0, 0, 0, NULL, '', NULL, '{}', '', 'queue_all', NULL),
    (x'019b76da986075038503030303030303', NULL, NULL, 'default', 'adhoc', 'retrying', 'second', 5, 1767225600002, '', 0, 30000, 1767225600000, 1767225600000, 1767225600000, NULL, NULL, 2, 1, 0, NULL, '', NULL, '{}', '{"attempt":1,"token":1,"worker":"w9","claimed_ms":1767225540000,"finished_ms":1767225541000,"outcome":{"kind":"refused","status":503}}', NULL, NULL),
    (x'019b76da986075048504040404040404', NULL, NULL, 'default', 'adhoc', 'running', 'second', 5, 1767225600000, '', 0, 30000, 1767225600000, 1767225600000, 1767225600000, 1767225600000, 'w9', 1, 1, 0, NULL, '', NULL, '{}', '', NULL, 'requested'),
    (x'019b76da986075058505050505050505', NULL, NULL, 'default', 'adhoc', 'scheduled', 'second', 5, 1767225600003, '', 0, 30000, 1767225600000, 1767225660000, 1767225600000, NULL, NULL, 0, 0, 0, NULL, '', NULL, '{}', '', NULL, NULL);

INSERT INTO history (
    id, job_id, version, tenant, kind, state, queue, priority, region, scheduled_ms, due_ms, created_ms, claimed_ms, started_ms,
    finished_ms, worker, attempt, lost, reason, tags, parent_id, spec, attempts
)
VALUES (
    x'019b76da986075068506060606060606', NULL, NULL, 'default', 'adhoc', 'failed', 'second', 5, '', 1767225600000, 1767225600000, 1767225600000, 1767225600000, 1767225600000, 1767225600000, 'w9', 1, 0, 'poison', '', NULL, '{}', ''
);
