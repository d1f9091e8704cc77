-- Live runs, written anew with their columns in the order in which they cost least: whoever writes a row anew compares each column that an
-- index names, and reads it at once where all before it have one width and a value, but through all of them where not. So those come
-- first, and then the texts that indexes name. See docs/internals/performance.md.
ALTER TABLE dueline.runs RENAME TO runs_before;
CREATE TABLE dueline.runs (
    id           uuid NOT NULL,
    rank         bigint NOT NULL,
    scheduled_ms bigint NOT NULL,
    due_ms       bigint NOT NULL,
    created_ms   bigint NOT NULL,
    token        bigint NOT NULL,
    timeout_ms   integer NOT NULL,
    attempt      integer NOT NULL,
    lost         integer NOT NULL,
    priority     smallint NOT NULL,
    exclusive    boolean NOT NULL,
    state        text NOT NULL,
    queue        text NOT NULL,
    lane         text NOT NULL DEFAULT '',
    tenant       text NOT NULL,
    kind         text NOT NULL,
    region       text NOT NULL,
    job_id       uuid,
    version      integer,
    claimed_ms   bigint,
    worker       text,
    reason       text,
    tags         text[] NOT NULL,
    parent_id    uuid,
    spec         text,
    attempts     text NOT NULL,
    overlap      text,
    cancel       text,
    expires_ms   bigint,
    begun_ms     bigint,
    fairness_key text,
    missed       boolean,
    waits_for    uuid,
    notifies     boolean
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2);
INSERT INTO dueline.runs (
    id, rank, scheduled_ms, due_ms, created_ms, token, timeout_ms, attempt, lost, priority, exclusive, state, queue, lane, tenant, kind,
    region, job_id, version, claimed_ms, worker, reason, tags, parent_id, spec, attempts, overlap, cancel, expires_ms, begun_ms,
    fairness_key, missed, waits_for, notifies
)
SELECT
    id, rank, scheduled_ms, due_ms, created_ms, token, timeout_ms, attempt, lost, priority, exclusive, state, queue, lane, tenant, kind,
    region, job_id, version, claimed_ms, worker, reason, tags, parent_id, spec, attempts, overlap, cancel, expires_ms, begun_ms,
    fairness_key, missed, waits_for, notifies
FROM dueline.runs_before;
DROP TABLE dueline.runs_before;

-- The same indexes as before.
ALTER TABLE dueline.runs ADD CONSTRAINT runs_pkey PRIMARY KEY (id);
CREATE INDEX runs_ready ON dueline.runs (queue, lane, rank, id) WHERE state = 'ready';
CREATE INDEX runs_waiting ON dueline.runs (due_ms) WHERE state IN ('scheduled', 'retrying');
CREATE INDEX runs_running ON dueline.runs (worker) WHERE worker IS NOT NULL;
CREATE INDEX runs_held ON dueline.runs (job_id, id) WHERE state = 'held' AND waits_for IS NULL;
CREATE INDEX runs_waits_for ON dueline.runs (waits_for, rank, id) WHERE state = 'held' AND waits_for IS NOT NULL;
CREATE INDEX runs_job ON dueline.runs (job_id, id) WHERE job_id IS NOT NULL;
CREATE INDEX runs_cancel ON dueline.runs (worker) WHERE cancel IS NOT NULL;
CREATE INDEX runs_missed ON dueline.runs (due_ms)
WHERE created_ms - scheduled_ms > 1000 AND attempt = 0 AND kind = 'scheduled' AND state IN ('scheduled', 'ready');
CREATE INDEX runs_expiring ON dueline.runs (expires_ms)
WHERE expires_ms IS NOT NULL AND attempt = 0 AND state IN ('scheduled', 'ready', 'held', 'retrying');
