-- name: put
-- Write a calendar, new or changed; `spoil` follows.
INSERT INTO calendars (tenant, name, calendar, version, updated_ms)
VALUES (?1, ?2, ?3, 1, now_ms())
ON CONFLICT (tenant, name) DO UPDATE
SET calendar = excluded.calendar, version = calendars.version + 1, updated_ms = excluded.updated_ms
RETURNING tenant, name, calendar, version, updated_ms;

-- name: spoil
-- The plans of jobs that name a calendar must be looked at again.
UPDATE plans SET stale = 1
WHERE job_id IN (SELECT job_id FROM calendar_uses WHERE tenant = ?1 AND name = ?2)
RETURNING job_id;

-- name: get
SELECT tenant, name, calendar, version, updated_ms FROM calendars WHERE tenant = ?1 AND name = ?2;

-- name: many
-- Calendars by their keys; what does not exist is left out.
SELECT c.tenant, c.name, c.calendar, c.version, c.updated_ms
FROM jsonb_each(?1) AS w
CROSS JOIN calendars AS c ON c.tenant = w.value ->> 0 AND c.name = w.value ->> 1;

-- name: page
-- A tenant's calendars above a name.
SELECT tenant, name, calendar, version, updated_ms FROM calendars WHERE tenant = ?1 AND name > ?2 ORDER BY name LIMIT ?3;

-- name: used
-- Whether a living job names the calendar.
SELECT 1
FROM calendar_uses AS u
CROSS JOIN jobs AS j ON j.id = u.job_id AND j.deleted_ms IS NULL
WHERE u.tenant = ?1 AND u.name = ?2
LIMIT 1;

-- name: delete
DELETE FROM calendars WHERE tenant = ?1 AND name = ?2 RETURNING name;

-- name: use
-- Remember that jobs name calendars.
INSERT INTO calendar_uses (tenant, name, job_id)
SELECT value ->> 0, value ->> 1, unhex(value ->> 2) FROM jsonb_each(?1) WHERE true
ON CONFLICT DO NOTHING;

-- name: unuse
-- Forget that jobs name calendars.
DELETE FROM calendar_uses
WHERE (tenant, name, job_id) IN (SELECT value ->> 0, value ->> 1, unhex(value ->> 2) FROM jsonb_each(?1));
