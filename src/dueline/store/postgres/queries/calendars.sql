-- name: put
-- Write a calendar, new or changed. `spoil` follows, and sees the jobs of everyone who shared the calendar before.
INSERT INTO dueline.calendars AS c (tenant, name, calendar, version, updated_ms)
VALUES ($1, $2, $3, 1, dueline.now_ms())
ON CONFLICT (tenant, name) DO UPDATE
SET calendar = excluded.calendar, version = c.version + 1, updated_ms = excluded.updated_ms
RETURNING tenant, name, calendar, version, updated_ms;

-- name: spoil
-- The plans of jobs that name a calendar must be looked at again. Locked in the order of the jobs, as others do who lock several.
WITH chosen AS MATERIALIZED (
    SELECT job_id
    FROM dueline.plans
    WHERE job_id = ANY(ARRAY(SELECT job_id FROM dueline.calendar_uses WHERE tenant = $1 AND name = $2))
    ORDER BY job_id
    FOR NO KEY UPDATE
)
UPDATE dueline.plans SET stale = true WHERE job_id = ANY(ARRAY(SELECT job_id FROM chosen))
RETURNING job_id;

-- name: get
SELECT tenant, name, calendar, version, updated_ms FROM dueline.calendars WHERE tenant = $1 AND name = $2;

-- name: many
-- Calendars by their keys; what does not exist is left out.
SELECT c.tenant, c.name, c.calendar, c.version, c.updated_ms
FROM unnest($1::text[], $2::text[]) AS w (tenant, name)
JOIN dueline.calendars AS c ON c.tenant = w.tenant AND c.name = w.name;

-- name: page
-- A tenant's calendars above a name.
SELECT tenant, name, calendar, version, updated_ms FROM dueline.calendars WHERE tenant = $1 AND name > $2 ORDER BY name LIMIT $3;

-- name: lock
-- Before a calendar is deleted: whoever shares it has written that it is used, or waits.
SELECT FROM dueline.calendars WHERE tenant = $1 AND name = $2 FOR UPDATE;

-- name: used
-- Whether a living job names the calendar.
SELECT EXISTS (
    SELECT
    FROM dueline.calendar_uses AS u
    WHERE
        u.tenant = $1 AND u.name = $2
        AND (SELECT j.deleted_ms IS NULL FROM dueline.jobs AS j WHERE j.id = u.job_id)
);

-- name: delete
DELETE FROM dueline.calendars WHERE tenant = $1 AND name = $2 RETURNING name;

-- name: share
-- Before a use is written: calendars that are being changed or deleted are waited for, and none is until the use is there.
SELECT
FROM dueline.calendars AS c
WHERE (c.tenant, c.name) IN (SELECT * FROM unnest($1::text[], $2::text[]))
ORDER BY c.tenant, c.name
FOR SHARE;

-- name: use
-- Remember that jobs name calendars.
INSERT INTO dueline.calendar_uses (tenant, name, job_id)
SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[])
ON CONFLICT DO NOTHING;

-- name: unuse
-- Forget that jobs name calendars.
DELETE FROM dueline.calendar_uses
WHERE ctid = ANY(ARRAY(
    SELECT (SELECT u.ctid FROM dueline.calendar_uses AS u WHERE u.tenant = g.tenant AND u.name = g.name AND u.job_id = g.job_id)
    FROM unnest($1::text[], $2::text[], $3::uuid[]) AS g (tenant, name, job_id)
));
