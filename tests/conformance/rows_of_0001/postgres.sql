-- What the first release left behind: a job at its second version, a paused one, a finished one and a deleted one, with their runs.
INSERT INTO jobs (
    id, tenant, name, state, version, generation, queue, region, target_type, tags, definition, pause_note, created_ms, updated_ms,
    deleted_ms
)
VALUES
    ('019b76da986074048404040404040404', 'default', 'active', 'active', 2, 3, 'default', '', 'http', '{}', '{"name":"active","execution":{"target":{"type":"http","url":"http://target/"}},"schedule":{"type":"every","period_ms":60000,"anchor_ms":1767222000000}}', NULL, 1767218400000, 1767222000000, NULL),
    ('019b76da9c4873038303030303030303', 'default', 'paused', 'paused', 1, 2, 'default', '', 'http', '{}', '{"name":"paused","execution":{"target":{"type":"http","url":"http://target/"}},"schedule":{"type":"cron","expression":"0 9 * * *","timezone":"Europe/Berlin"}}', 'why', 1767218400000, 1767223800000, NULL),
    ('019b76daa03072028202020202020202', 'default', 'finished', 'finished', 1, 1, 'default', '', 'http', '{}', '{"name":"finished","execution":{"target":{"type":"http","url":"http://target/"}},"schedule":{"type":"at","at_ms":1767225540000}}', NULL, 1767218400000, 1767225540000, NULL),
    ('019b76daa41871018101010101010101', 'default', 'deleted', 'active', 1, 2, 'default', '', 'http', '{}', '{"name":"deleted","execution":{"target":{"type":"http","url":"http://target/"}}}', NULL, 1767218400000, 1767225540000, 1767225540000);

INSERT INTO job_versions (job_id, version, definition)
VALUES ('019b76da986074048404040404040404', 1, '{"name":"active","execution":{"target":{"type":"http","url":"http://target/"}},"schedule":{"type":"every","period_ms":3600000,"anchor_ms":1767222000000}}');

INSERT INTO plans (job_id, shard, version, generation, next_ms, due_ms)
VALUES
    ('019b76da986074048404040404040404', 58, 2, 3, 1767225600000, 1767225600000),
    ('019b76da9c4873038303030303030303', 0, 1, 2, 1767223800000, NULL);

INSERT INTO runs (
    id, job_id, version, tenant, kind, state, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms, created_ms,
    claimed_ms, worker, token, attempt, lost, reason, tags, parent_id, spec, attempts
)
VALUES
    ('019b76d9bda0718f823826558304a1f6', '019b76da986074048404040404040404', 2, 'default', 'scheduled', 'ready', 'default', 5, 1767225540000, '', true, 30000, 1767225540000, 1767225540000, 1767225540000, NULL, NULL, 3145728, 0, 0, NULL, '{}', NULL, NULL, ''),
    ('019b76d8d3407073a5aa37009c1a6336', '019b76da986074048404040404040404', 2, 'default', 'scheduled', 'running', 'default', 5, 1767225480000, '', true, 30000, 1767225480000, 1767225480000, 1767225480000, 1767225480000, 'w0', 3145729, 1, 0, NULL, '{}', NULL, NULL, ''),
    ('019b76a3b980764bbd2e9a0492ae1781', '019b76da9c4873038303030303030303', 1, 'default', 'scheduled', 'held', 'default', 5, 1767222000000, '', false, 30000, 1767222000000, 1767222000000, 1767222000000, NULL, NULL, 0, 0, 0, 'paused', '{}', NULL, NULL, '');

INSERT INTO places (job_id, run_id)
VALUES ('019b76da986074048404040404040404', '019b76d8d3407073a5aa37009c1a6336');

INSERT INTO history (
    id, job_id, version, tenant, kind, state, queue, priority, region, scheduled_ms, due_ms, created_ms, claimed_ms, started_ms,
    finished_ms, worker, attempt, lost, reason, tags, parent_id, spec, attempts
)
VALUES (
    '019b76d7e8e0706b82fcfc70d6428bad', '019b76da986074048404040404040404', 1, 'default', 'scheduled', 'succeeded', 'default', 5, '', 1767225420000, 1767225420000, 1767225420000, 1767225420000, 1767225420000,
    1767225421000, 'w0', 1, 0, NULL, '{}', NULL, NULL, ''
);

UPDATE shards SET epoch = 7 WHERE shard = 58;
