-- A store as it is on a large day: a million plans, two hundred thousand of them with their jobs, whose words take longest to write; a million
-- ready runs, and some of everything else.
SET synchronous_commit = off;

CREATE FUNCTION public.id_at(at_ms bigint, number integer) RETURNS uuid
LANGUAGE sql IMMUTABLE
AS $body$ SELECT (lpad(to_hex(at_ms), 12, '0') || lpad(to_hex(number), 20, '7'))::uuid $body$;

-- A hundred tenants of the same size.
INSERT INTO dueline.jobs (
    id, tenant, name, state, version, generation, queue, region, target_type, tags, definition, created_ms, updated_ms, since_ms
)
SELECT
    public.id_at(at_ms - 1000000 + n, n), 'tenant-' || n % 100, 'job-' || n, 'active', 1, 1, 'default', '', 'http', ARRAY['blue'], '{}',
    at_ms, at_ms, at_ms
FROM public.seeded, generate_series(1, 200000) AS n;

-- Deleted ones, of which nothing is left but themselves.
INSERT INTO dueline.jobs (
    id, tenant, name, state, version, generation, queue, region, target_type, tags, definition, created_ms, updated_ms, since_ms, deleted_ms
)
SELECT public.id_at(0, 60000 + n), 'tenant-' || n % 100, 'gone-' || n, 'active', 1, 1, 'default', '', 'http', '{}', '{}', 0, 0, 0, n
FROM generate_series(1, 5000) AS n;

-- Once a day each, on the minute: 694 or 695 at a time.
INSERT INTO dueline.plans (job_id, shard, version, generation, next_ms, due_ms)
SELECT public.id_at(at_ms - 1000000 + n, n), hashint4(n) & 255, 1, 1, at_ms + n % 1440 * 60000, at_ms + n % 1440 * 60000
FROM public.seeded, generate_series(1, 1000000) AS n;

-- A few of them must be looked at again, and a tenth follows one of a hundred calendars.
UPDATE dueline.plans SET stale = true WHERE job_id IN (SELECT public.id_at(at_ms - 1000000 + n * 9000, n * 9000) FROM public.seeded, generate_series(1, 100) AS n);
INSERT INTO dueline.calendar_uses (tenant, name, job_id)
SELECT 'tenant-' || n % 100, 'holidays', public.id_at(at_ms - 1000000 + n, n)
FROM public.seeded, generate_series(1, 100000) AS n;

-- Some have versions that were replaced.
INSERT INTO dueline.job_versions (job_id, version, definition, since_ms)
SELECT public.id_at(0, n % 20000), n / 20000 + 1, '{}', 0 FROM generate_series(0, 99999) AS n
ON CONFLICT DO NOTHING;

-- What became of occurrences: of one job thousands of stretches, of others a few.
INSERT INTO dueline.ledger (job_id, from_ms, to_ms, version, verdict, reason)
SELECT public.id_at(0, CASE WHEN n <= 20000 THEN 257 ELSE n % 50000 END), at_ms - n * 10000, at_ms - n * 10000 + 5000, 1, 'skipped', 'misfire'
FROM public.seeded, generate_series(1, 200000) AS n;

-- A backlog in twenty queues, most of it of one tenant; then waiting, running and held runs.
INSERT INTO dueline.runs (
    id, job_id, version, tenant, kind, state, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms, created_ms,
    claimed_ms, worker, token, attempt, lost, reason, tags, attempts
)
SELECT
    public.id_at(at_ms - 1100000 + n, n), public.id_at(0, n % 50000), 1,
    CASE WHEN n % 10 = 0 THEN 'tenant-' || n % 100 ELSE 'default' END, 'scheduled',
    CASE
        WHEN n <= 1000000 THEN 'ready'
        WHEN n <= 1020000 THEN 'scheduled'
        WHEN n <= 1022000 THEN 'running'
        ELSE 'held'
    END,
    'queue-' || n % 20, 5, at_ms - 1100000 + n, '', false, 30000, at_ms - 1100000 + n,
    CASE WHEN n BETWEEN 1000001 AND 1020000 THEN at_ms - 5000000 + (n - 1000000) * 1000 ELSE at_ms - 1100000 + n END, at_ms,
    CASE WHEN n BETWEEN 1020001 AND 1022000 THEN at_ms END, CASE WHEN n BETWEEN 1020001 AND 1022000 THEN 'w1' END,
    0, 0, 0, CASE WHEN n > 1022000 THEN 'overlap' END, '{}', ''
FROM public.seeded, generate_series(1, 1023000) AS n;

-- At one gate a hundred thousand of one job wait, at a hundred others ten each; those under way have a place each. And there are many
-- gates at which nobody waits.
INSERT INTO dueline.runs (
    id, job_id, version, tenant, kind, state, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms, created_ms,
    token, attempt, lost, reason, tags, attempts, waits_for
)
SELECT
    public.id_at(at_ms - 1100000 + n, n), public.id_at(0, 50001), 1, 'default', 'scheduled', 'held', 'queue-0', 5, at_ms + n, '', false, 30000,
    at_ms, at_ms, at_ms, 0, 0, 0, 'concurrency', '{}', '', public.id_at(0, CASE WHEN n <= 1123000 THEN 1000001 ELSE 1000002 + n % 100 END)
FROM public.seeded, generate_series(1023001, 1124000) AS n;
INSERT INTO dueline.gates (gate, scope, tenant, name, as_of, most, burst, full_us, refill_ms, seen_ms)
SELECT
    public.id_at(0, 1000000 + n), 'key', 'default', 'key-' || n, 0, 20, 1, 0, CASE WHEN n BETWEEN 50 AND 60 THEN at_ms END,
    CASE WHEN n <= 30000 THEN at_ms ELSE at_ms - 120000 END
FROM public.seeded, generate_series(1, 50000) AS n;
INSERT INTO dueline.gate_places (gate, run_id)
SELECT public.id_at(0, 1000001 + n % 100), public.id_at(at_ms - 1100000 + n, n) FROM public.seeded, generate_series(1020001, 1022000) AS n;
-- Another run of their job is under way.
INSERT INTO dueline.places (job_id, run_id) VALUES (public.id_at(0, 50001), public.id_at(0, 1));

-- Somebody asked a few runs to end.
UPDATE dueline.runs SET cancel = 'requested' WHERE id IN (SELECT public.id_at(at_ms - 1100000 + n, n) FROM public.seeded, generate_series(1021981, 1022020) AS n);

-- A lane of few in a queue of many, behind all of them.
UPDATE dueline.runs SET lane = 'gpu', rank = rank + 2000000
WHERE id IN (SELECT public.id_at(at_ms - 1100000 + n, n) FROM public.seeded, generate_series(7, 10000, 20) AS n);
INSERT INTO dueline.queue_pauses (queue, since_ms) SELECT 'queue-3', at_ms FROM public.seeded;

-- Lines with hundreds of tenants that wait, of which one has thousands of keys; half of it all had its turn.
INSERT INTO dueline.flows (queue, lane, tenant, level, key, finish, added, reserved_ms)
SELECT 'queue-' || n, '', '', '', '', 0, 0, 0 FROM generate_series(0, 19) AS n
UNION ALL
SELECT
    'queue-' || n % 20, '', 'tenant-' || n / 20 % 500, '5f', CASE WHEN n % 20 = 7 AND n / 20 % 500 < 250 THEN 'key-' || n ELSE '' END,
    at_ms - 1100000 + CASE WHEN n % 3 = 0 THEN -n ELSE n END, 1048576, at_ms
FROM public.seeded, generate_series(1, 100000) AS n
ON CONFLICT DO NOTHING;
INSERT INTO dueline.flows (queue, lane, tenant, level, key, finish, added, reserved_ms)
SELECT 'queue-7', '', 'many-keys', '5f', 'key-' || n, at_ms + n, 1048576, at_ms FROM public.seeded, generate_series(1, 5000) AS n;

-- A tenth can come too late, and a thousand did.
UPDATE dueline.runs AS r SET expires_ms = s.at_ms + CASE WHEN n <= 901000 THEN -1 ELSE 3600000 END
FROM public.seeded AS s, generate_series(900001, 1000000) AS n
WHERE r.id = public.id_at(s.at_ms - 1100000 + n, n);

-- What runs under way told, and what ended ones left behind.
INSERT INTO dueline.run_progress (run_id, checkpoint, progress, note, updated_ms)
SELECT public.id_at(at_ms - 1100000 + n, n), 'page 1', 0.1, 'so', at_ms FROM public.seeded, generate_series(1020001, 1022000) AS n
UNION ALL
SELECT public.id_at(at_ms - 9000000 + n, n), 'page 9', 0.9, 'so', at_ms FROM public.seeded, generate_series(1, 100000) AS n;

-- Two days of history, from a noon back, so that every day has many, whatever time it is.
INSERT INTO dueline.history (
    id, job_id, version, tenant, kind, state, queue, priority, region, scheduled_ms, due_ms, created_ms, finished_ms, attempt, lost,
    tags, attempts
)
SELECT
    public.id_at(at_ms / 86400000 * 86400000 + 43200000 - n * 1100, n), public.id_at(0, n % 50000), 1, 'default', 'scheduled', 'succeeded',
    'queue-0', 5, '', at_ms, at_ms, at_ms, at_ms / 86400000 * 86400000 + 43200000 - n * 1100, 1, 0, '{}', ''
FROM public.seeded, generate_series(1, 150000) AS n;

-- Runs that failed: of one tenant many, of a hundred others some.
INSERT INTO dueline.dead_letters (run_id, tenant, job_id, queue, reason, failed_ms)
SELECT
    public.id_at(at_ms / 86400000 * 86400000 + 43200000 - n * 1100, n), CASE WHEN n % 3 = 0 THEN 'tenant-' || n % 100 ELSE 'default' END, public.id_at(0, n % 50000),
    'queue-0', CASE WHEN n % 3 = 1 THEN 'poison' ELSE 'exhausted' END, at_ms
FROM public.seeded, generate_series(1, 150000) AS n;

-- Keys of runs that are ready, and of as many that are over; a thousand are due to be looked at.
INSERT INTO dueline.uniques (tenant, key, run_id, taken_ms, until_ms, sweep_ms)
SELECT
    'default', 'key-' || n, public.id_at(at_ms - CASE WHEN n % 2 = 0 THEN 1100000 - n ELSE 2000000 + n * 1000 END, n), at_ms, at_ms,
    at_ms + CASE WHEN n <= 1000 THEN -1 ELSE 3600000 END
FROM public.seeded, generate_series(1, 150000) AS n;

INSERT INTO dueline.nodes (boot_id, role, host, pid, version, beat, started_ms, expires_ms, draining)
SELECT 'w1', 'worker', 'here', 1, '1', 0, at_ms, at_ms + 3600000, false FROM public.seeded;
