-- Jobs found by words, however few of very many have them.

-- The words of a living job, as an index of them wants them. Each stands behind its tenant, so that whoever looks for one does not meet those
-- of others. They are cut at whatever is no letter or digit: `domain/words.py` cuts what is looked for in the same way. Of a long one the first
-- two hundred letters count, since an index has no room for more. The URL is the first of its name in the definition, because quotes in the
-- job's name are escaped; nothing else of that is read. The queue and the type of the target stand among the words, with a sign in front that
-- no word begins with: so those that a filter leaves out are not looked up.
CREATE FUNCTION dueline.words_of(tenant text, name text, tags text[], queue text, target_type text, definition text) RETURNS tsvector
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $body$
DECLARE
    cut text := regexp_replace(
        lower((
            ' ' || name || ' ' || array_to_string(tags, ' ') || ' '
            || split_part(split_part(definition, CASE target_type WHEN 'http' THEN '"url":"' ELSE '"task":"' END, 2), '"', 1)
        ) COLLATE "C"),
        '[^0-9a-z\u00C0-\u1FFF\u2070-\u2FFF\u3040-\U0010FFFF]+', E'\x1e', 'g'
    );
BEGIN
    IF octet_length(cut) > 1000 THEN
        cut := E'\x1e' || (SELECT string_agg(left(w.word, 200), E'\x1e') FROM unnest(string_to_array(cut, E'\x1e')) AS w (word) WHERE w.word <> '');
    END IF;
    cut := cut || E'\x1e=' || target_type || E'\x1e@' || queue;
    RETURN array_to_tsvector(string_to_array(substr(replace(cut, E'\x1e', E'\x1e' || tenant || E'\x1f'), 2), E'\x1e'));
END
$body$;

-- Apart from jobs, which are written when they are paused or exhausted, too: an index of them would be written each time.
CREATE TABLE dueline.job_words (
    id    uuid PRIMARY KEY,
    words tsvector NOT NULL
);
INSERT INTO dueline.job_words (id, words)
SELECT id, dueline.words_of(tenant, name, tags, queue, target_type, definition) FROM dueline.jobs WHERE deleted_ms IS NULL ORDER BY id;
-- New words are gathered, which makes many of them cheap; all that look for one read what was gathered, so that is kept short.
CREATE INDEX job_words_found ON dueline.job_words USING gin (words) WITH (fastupdate = on, gin_pending_list_limit = 1024);

-- They are kept by triggers, so that processes of an earlier release keep them too. Many jobs are one statement.
CREATE FUNCTION dueline.add_words() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    INSERT INTO dueline.job_words (id, words)
    SELECT id, dueline.words_of(tenant, name, tags, queue, target_type, definition) FROM made WHERE deleted_ms IS NULL;
    RETURN NULL;
END
$body$;
CREATE TRIGGER jobs_worded AFTER INSERT ON dueline.jobs
REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION dueline.add_words();

CREATE FUNCTION dueline.change_words() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF new.deleted_ms IS NULL THEN
        INSERT INTO dueline.job_words (id, words)
        VALUES (new.id, dueline.words_of(new.tenant, new.name, new.tags, new.queue, new.target_type, new.definition))
        ON CONFLICT (id) DO UPDATE SET words = excluded.words WHERE job_words.words <> excluded.words;
    ELSE
        DELETE FROM dueline.job_words WHERE id = new.id;
    END IF;
    RETURN NULL;
END
$body$;
CREATE TRIGGER jobs_words_changed AFTER UPDATE OF definition ON dueline.jobs
FOR EACH ROW WHEN ((old.version, old.deleted_ms IS NULL) IS DISTINCT FROM (new.version, new.deleted_ms IS NULL))
EXECUTE FUNCTION dueline.change_words();

CREATE FUNCTION dueline.leave_words() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    DELETE FROM dueline.job_words WHERE id = ANY(ARRAY(SELECT id FROM gone));
    RETURN NULL;
END
$body$;
CREATE TRIGGER jobs_words_left AFTER DELETE ON dueline.jobs
REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION dueline.leave_words();

-- Ids of jobs that have some words, below an id, newest first, so many at most; null: all of them. An index of words is read in one way only,
-- which our sessions do not allow otherwise; and that a table was empty when this was planned spoils nothing.
CREATE FUNCTION dueline.worded(sought tsquery, below uuid, most bigint) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SET enable_bitmapscan = on SET enable_seqscan = off AS $body$
BEGIN
    RETURN QUERY
    SELECT w.id
    FROM (
        SELECT id FROM dueline.job_words WHERE words @@ sought AND (id < below) IS TRUE OFFSET 0
    ) AS w (id)
    ORDER BY w.id DESC
    LIMIT most;
END
$body$;
