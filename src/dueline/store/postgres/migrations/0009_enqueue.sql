-- Enqueueing in a transaction of the caller's own: what dueline.enqueue writes is there if and only if that transaction commits. It checks
-- what is checked over HTTP, because workers read what stands in a run, and one that they cannot read would stop them.

-- What is refused is told as FIELD: REASON. What is unknown does not hold.
CREATE FUNCTION dueline.insist(holds boolean, field text, reason text) RETURNS void
LANGUAGE plpgsql AS $body$
BEGIN
    IF holds IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = field || ': ' || reason;
    END IF;
END
$body$;

-- Whether a text holds no control characters, which nobody sees and which terminals read as commands.
CREATE FUNCTION dueline.is_clean(value text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $body$
    SELECT value COLLATE "C" !~ '[\x01-\x1f\x7f-\x9f\u2028\u2029]'
$body$;

CREATE FUNCTION dueline.is_word(value text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $body$
    SELECT value COLLATE "C" ~ '^[A-Za-z0-9._-]{1,100}$'
$body$;

CREATE FUNCTION dueline.is_whole(value jsonb, low bigint, high bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $body$
    SELECT CASE WHEN value::text ~ '^[0-9]{1,12}$' THEN value::bigint BETWEEN low AND high ELSE false END
$body$;

CREATE FUNCTION dueline.duration_ms(duration interval, field text, least_ms bigint, most_ms bigint) RETURNS bigint
LANGUAGE plpgsql AS $body$
DECLARE
    duration_ms numeric := floor(extract(epoch FROM duration) * 1000);
BEGIN
    PERFORM dueline.insist(
        extract(year FROM duration) = 0 AND extract(month FROM duration) = 0, field, 'months and years have no fixed length'
    );
    PERFORM dueline.insist(
        duration_ms BETWEEN least_ms AND most_ms, field, format('must be between %s and %s ms', least_ms, most_ms)
    );
    RETURN duration_ms;
END
$body$;

-- Whether every encoder and decoder on its way can bear a payload. As jsonb it has neither NUL characters nor halves of letters.
CREATE FUNCTION dueline.check_payload(payload json, field text) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    written text := CASE json_typeof(payload) WHEN 'string' THEN payload #>> '{}' ELSE payload::text END;
BEGIN
    PERFORM dueline.insist(octet_length(written) <= 65536, field, 'may have 65536 bytes: send larger payloads by reference');
    PERFORM dueline.insist(
        NOT jsonb_path_exists(payload::jsonb, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")'),
        field, 'must not be nested more than 64 levels deep'
    );
    PERFORM dueline.insist(
        NOT jsonb_path_exists(
            payload::jsonb, 'strict $.** ? (@.type() == "number") ? (@ > 1.7976931348623157e308 || @ < -1.7976931348623157e308)'
        ),
        field, 'must not hold numbers beyond those of 64 bits'
    );
END
$body$;

-- Which answers and ends are meant: {"statuses": [[500, 599]], "kinds": ["timed_out"]}.
CREATE FUNCTION dueline.is_conditions(conditions jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $body$
    SELECT coalesce(bool_and(
        CASE WHEN jsonb_typeof(value) <> 'array' THEN false ELSE jsonb_array_length(value) <= 32 AND CASE key
            WHEN 'kinds' THEN value <@ '["errored", "timed_out", "unreachable"]'
            WHEN 'statuses' THEN NOT EXISTS (
                SELECT FROM jsonb_array_elements(value) AS s (pair)
                WHERE NOT CASE WHEN jsonb_typeof(pair) <> 'array' THEN false ELSE
                    jsonb_array_length(pair) = 2
                    AND dueline.is_whole(pair -> 0, 100, 999) AND dueline.is_whole(pair -> 1, 100, 999)
                END
            )
            ELSE false
        END END
    ), true)
    FROM jsonb_each(CASE jsonb_typeof(conditions) WHEN 'object' THEN conditions ELSE '{"no": 0}' END)
$body$;

-- A retry policy as runs keep it, in milliseconds; whatever is absent is as it is for jobs.
CREATE FUNCTION dueline.check_retry(retry jsonb) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    week_ms CONSTANT bigint := 604800000;
    backoff text;
    name text;
    value jsonb;
BEGIN
    PERFORM dueline.insist(jsonb_typeof(retry) = 'object', 'retry', 'must be an object');
    FOR name, value IN SELECT * FROM jsonb_each(retry) LOOP
        PERFORM dueline.insist(
            CASE name
                WHEN 'max_attempts' THEN dueline.is_whole(value, 1, 100)
                WHEN 'max_lost' THEN dueline.is_whole(value, 1, 10)
                WHEN 'base_ms' THEN dueline.is_whole(value, 0, week_ms)
                WHEN 'cap_ms' THEN dueline.is_whole(value, 0, week_ms)
                WHEN 'max_elapsed_ms' THEN dueline.is_whole(value, 0, 2592000000)
                WHEN 'backoff' THEN value IN ('"exponential"', '"fixed"', '"list"')
                WHEN 'delays_ms' THEN CASE WHEN jsonb_typeof(value) <> 'array' THEN false ELSE
                    jsonb_array_length(value) BETWEEN 1 AND 100
                    AND NOT EXISTS (SELECT FROM jsonb_array_elements(value) AS d (delay) WHERE NOT dueline.is_whole(delay, 0, week_ms))
                END
                WHEN 'retry_on' THEN dueline.is_conditions(value)
                WHEN 'never_on' THEN dueline.is_conditions(value)
                ELSE false
            END,
            'retry.' || name, 'is unknown, or out of its bounds'
        );
    END LOOP;
    backoff := coalesce(retry ->> 'backoff', 'exponential');
    PERFORM dueline.insist((backoff = 'list') = (retry ? 'delays_ms'), 'retry.delays_ms', 'belongs to the backoff list, and to no other');
    PERFORM dueline.insist(
        backoff <> 'exponential' OR coalesce((retry -> 'cap_ms')::bigint, 300000) >= coalesce((retry -> 'base_ms')::bigint, 1000),
        'retry.cap_ms', 'must not be shorter than retry.base_ms'
    );
END
$body$;

-- Headers are lines of plain text, and those that belong to the connection or to the run are not the caller's.
CREATE FUNCTION dueline.check_headers(headers json) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    name text;
    value json;
BEGIN
    PERFORM dueline.insist(json_typeof(headers) = 'object', 'headers', 'must be an object');
    PERFORM dueline.insist(count(*) <= 64, 'headers', 'must be at most 64') FROM json_each(headers);
    PERFORM dueline.insist(count(*) = count(DISTINCT lower(key)), 'headers', 'must each be given once') FROM json_each(headers);
    FOR name, value IN SELECT * FROM json_each(headers) LOOP
        PERFORM dueline.insist(
            name COLLATE "C" ~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]+$' AND json_typeof(value) = 'string'
            AND (value #>> '{}') COLLATE "C" ~ '^([!-~]([\t -~]*[!-~])?)?$' AND length(name) + length(value #>> '{}') <= 8192,
            'headers', 'must be names and texts as HTTP has them'
        );
        PERFORM dueline.insist(
            lower(name) NOT IN (
                'host', 'content-length', 'transfer-encoding', 'connection', 'keep-alive', 'proxy-connection', 'te', 'trailer',
                'upgrade', 'expect', 'idempotency-key', 'traceparent', 'webhook-id', 'webhook-timestamp', 'webhook-signature'
            ) AND NOT starts_with(lower(name), 'dueline-'),
            'headers', format('%s is set by Dueline itself', name)
        );
    END LOOP;
END
$body$;

-- An id as people read it.
CREATE FUNCTION dueline.run_text(id uuid) RETURNS text
LANGUAGE sql IMMUTABLE AS $body$
    SELECT 'run_' || string_agg(
        substr('0123456789abcdefghjkmnpqrstvwxyz', substring(b.bits FROM 5 * n + 1 FOR 5)::integer + 1, 1), '' ORDER BY n
    )
    FROM (SELECT B'00' || ('x' || replace(id::text, '-', ''))::bit(128) AS bits) AS b, generate_series(0, 25) AS n
$body$;

-- Ask for a run of a task or for a call of a URL, in the transaction of the caller; answers the id of the run. It waits until the
-- promoter ranks it, who hears of it at the commit. It runs with the rights of the schema's owner: whoever may execute it needs no others.
CREATE FUNCTION dueline.enqueue(
    task text DEFAULT NULL,
    args json DEFAULT NULL,
    url text DEFAULT NULL,
    method text DEFAULT NULL,
    headers json DEFAULT NULL,
    body json DEFAULT NULL,
    due_at timestamptz DEFAULT NULL,
    queue text DEFAULT NULL,
    priority integer DEFAULT NULL,
    tags text[] DEFAULT NULL,
    fairness_key text DEFAULT NULL,
    region text DEFAULT NULL,
    requires text[] DEFAULT NULL,
    timeout interval DEFAULT NULL,
    run_timeout interval DEFAULT NULL,
    expires_after interval DEFAULT NULL,
    delivery text DEFAULT NULL,
    retry json DEFAULT NULL,
    tenant text DEFAULT NULL
) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $body$
DECLARE
    now_ms CONSTANT bigint := dueline.now_ms();
    month_ms CONSTANT bigint := 2592000000;
    labels text[] := ARRAY(SELECT label FROM unnest(requires) AS label ORDER BY label COLLATE "C");
    timeout_ms bigint;
    run_timeout_ms bigint;
    expires_after_ms bigint;
    target text;
    due_ms bigint;
    run_id uuid;
BEGIN
    queue := coalesce(queue, 'default');
    priority := coalesce(priority, 5);
    tags := ARRAY(SELECT unnest(tags));
    fairness_key := coalesce(fairness_key, '');
    region := coalesce(region, '');
    delivery := coalesce(delivery, 'at_least_once');
    retry := coalesce(retry, '{}');
    tenant := coalesce(tenant, 'default');

    PERFORM dueline.insist(num_nonnulls(task, url) = 1, 'task', 'give either a task or a url');
    IF task IS NOT NULL THEN
        args := coalesce(args, '{}');
        PERFORM dueline.insist(num_nonnulls(method, headers, body) = 0, 'task', 'has no use for method, headers and body');
        PERFORM dueline.insist(
            length(task) <= 200 AND task ~ '\S' AND dueline.is_clean(task), 'task', 'must have 1 to 200 letters, without control characters'
        );
        PERFORM dueline.insist(json_typeof(args) = 'object', 'args', 'must be an object');
        PERFORM dueline.check_payload(args, 'args');
        target := format('{"type":"task","task":%s,"args":%s}', to_json(task), args);
    ELSE
        method := upper(coalesce(method, 'POST'));
        headers := coalesce(headers, '{}');
        body := coalesce(body, 'null');
        PERFORM dueline.insist(args IS NULL, 'url', 'has no use for args');
        PERFORM dueline.insist(
            length(url) <= 4096 AND url COLLATE "C" ~ '^[!-~]+$' AND url !~ '["<>\\^`{|}#]' AND url ~* (
                '^https?://(\[[0-9a-f:.]+\]|[a-z0-9_]([a-z0-9_.-]*[a-z0-9_.])?)(:[0-9]{1,5})?([/?]|$)'
            ),
            'url', 'must be an http or https URL of plain ASCII, without user info, fragment and braces'
        );
        PERFORM dueline.insist(
            length(method) <= 32 AND method COLLATE "C" ~ '^[A-Z0-9!#$%&''*+.^_`|~-]+$' AND method NOT IN ('CONNECT', 'TRACE'),
            'method', 'must be an HTTP method such as POST'
        );
        PERFORM dueline.check_headers(headers);
        PERFORM dueline.check_payload(body, 'body');
        target := format(
            '{"type":"http","url":%s,"method":%s,"headers":%s,"body":%s}', to_json(url), to_json(method), headers, body
        );
    END IF;

    PERFORM dueline.insist(dueline.is_word(queue), 'queue', 'must be 1 to 100 of the letters A-Z a-z 0-9 . _ -');
    PERFORM dueline.insist(region = '' OR dueline.is_word(region), 'region', 'must be 1 to 100 of the letters A-Z a-z 0-9 . _ -');
    PERFORM dueline.insist(priority BETWEEN 0 AND 9, 'priority', 'must be between 0 and 9; 9 is the most urgent');
    PERFORM dueline.insist(
        length(fairness_key) <= 255 AND dueline.is_clean(fairness_key), 'fairness_key',
        'must have at most 255 letters, without control characters'
    );
    PERFORM dueline.insist(
        dueline.is_word(tenant), 'tenant', 'must be 1 to 100 of the letters A-Z a-z 0-9 . _ -'
    );
    PERFORM dueline.insist(
        count(*) <= 32 AND count(*) = count(DISTINCT tag)
        AND coalesce(bool_and(length(tag) BETWEEN 1 AND 64 AND dueline.is_clean(tag)), true),
        'tags', 'must be at most 32, each once, of 1 to 64 letters without control characters'
    ) FROM unnest(tags) AS tag;
    PERFORM dueline.insist(
        count(*) <= 16 AND count(*) = count(DISTINCT label)
        AND coalesce(bool_and(dueline.is_word(label) AND label NOT IN ('task', 'http')), true),
        'requires', 'must be at most 16 labels, each once, of the letters A-Z a-z 0-9 . _ -, and neither task nor http'
    ) FROM unnest(labels) AS label;
    PERFORM dueline.insist(
        delivery IN ('at_least_once', 'at_most_once'), 'delivery', 'must be at_least_once or at_most_once'
    );
    PERFORM dueline.check_retry(retry::jsonb);
    timeout_ms := dueline.duration_ms(coalesce(timeout, '30 s'), 'timeout', 100, 86400000);
    IF run_timeout IS NOT NULL THEN
        run_timeout_ms := dueline.duration_ms(run_timeout, 'run_timeout', 100, month_ms);
    END IF;
    IF expires_after IS NOT NULL THEN
        expires_after_ms := dueline.duration_ms(expires_after, 'expires_after', 1000, month_ms);
    END IF;
    PERFORM dueline.insist(
        due_at IS NULL OR (due_at >= '1970-01-01 00:00:00Z' AND due_at < '10000-01-01 00:00:00Z'), 'due_at',
        'must lie between the years 1970 and 9999'
    );
    due_ms := coalesce(floor(extract(epoch FROM due_at) * 1000)::bigint, now_ms);
    PERFORM dueline.insist(due_ms >= now_ms - 60000, 'due_at', 'lies more than a minute in the past; without it the run is due at once');

    run_id := lpad(to_hex(due_ms), 12, '0') || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14);
    INSERT INTO dueline.runs (
        id, tenant, kind, state, queue, priority, rank, region, exclusive, timeout_ms, scheduled_ms, due_ms, created_ms, token, attempt, lost,
        tags, spec, attempts, lane, expires_ms, fairness_key
    ) VALUES (
        run_id, tenant, 'adhoc', 'scheduled', queue, priority, 0, region, false, timeout_ms, due_ms, due_ms, now_ms, 0, 0, 0, tags,
        format(
            '{"target":%s,"retry":%s,"timeout_ms":%s,"run_timeout_ms":%s,"delivery":%s,"expires_after_ms":%s,"requires":%s}',
            target, retry::jsonb, timeout_ms, coalesce(run_timeout_ms::text, 'null'), to_json(delivery),
            coalesce(expires_after_ms::text, 'null'), to_json(labels)
        ),
        '',
        array_to_string(ARRAY(
            SELECT label FROM unnest(CASE WHEN task IS NULL THEN labels ELSE labels || 'task'::text END) AS label ORDER BY label COLLATE "C"
        ), ','),
        due_ms + expires_after_ms, nullif(fairness_key, '')
    );
    -- Whoever looks for waiting runs looks often enough for what is due later.
    IF due_ms <= now_ms + 1000 THEN
        PERFORM pg_notify('dueline', 'waiting');
    END IF;
    RETURN dueline.run_text(run_id);
END
$body$;
REVOKE ALL ON FUNCTION dueline.enqueue FROM PUBLIC;
