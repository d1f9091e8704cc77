-- Jobs found by words that very many have, however old they are.

-- Words are indexed by blocks of jobs: whoever asks for one of them meets the words of as many jobs, and not of all. A block is of those that
-- were written one after the other, so as a rule its ids are next to each other; nothing relies on that.
CREATE SEQUENCE dueline.job_words_numbers MINVALUE 0;

-- The words of a job as the index has them, each behind its block.
CREATE FUNCTION dueline.blocked(block integer, words tsvector) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $body$
DECLARE
    front text := to_hex(block) || E'\x1f';
BEGIN
    RETURN array_to_tsvector(string_to_array(front || array_to_string(tsvector_to_array(words), E'\x1e' || front), E'\x1e'));
END
$body$;

-- In the order of their ids, from here on as they are created. Triggers of an earlier release write as they did, and its searches find what they
-- did, without an index.
DROP INDEX dueline.job_words_found;
CREATE TEMPORARY TABLE job_words_before ON COMMIT DROP AS TABLE dueline.job_words;
TRUNCATE dueline.job_words;
ALTER TABLE dueline.job_words ADD COLUMN block integer NOT NULL DEFAULT nextval('dueline.job_words_numbers') / 16384;
INSERT INTO dueline.job_words (id, words) SELECT id, words FROM job_words_before ORDER BY id;
-- Some of them, which are all: whoever looks for an id alone does not get to walk through this index, though it was planned while it was empty.
CREATE INDEX job_words_blocks ON dueline.job_words (block, id) WHERE block >= 0;
-- New words are gathered, which makes many of them cheap; they are read for each block that is asked for one, so that is kept short.
CREATE INDEX job_words_blocked ON dueline.job_words USING gin (dueline.blocked(block, words)) WITH (fastupdate = on, gin_pending_list_limit = 64);

-- Ids of jobs that have some words, below an id, newest first, so many at most; and the id from which on, downwards, others may have them, null if
-- none does. The blocks are asked one after the other, those first that have the newest, until there are enough, or so many milliseconds have
-- passed. In what is sought U+001E stands for the block.
CREATE FUNCTION dueline.found(sought text, below uuid, most integer, patience_ms integer, OUT ids uuid[], OUT rest uuid)
LANGUAGE plpgsql STABLE SET enable_bitmapscan = on SET enable_seqscan = off AS $body$
DECLARE
    until timestamptz := clock_timestamp() + patience_ms * interval '1 ms';
    next record;
    asked tsquery;
BEGIN
    ids := '{}';
    FOR next IN
        WITH RECURSIVE blocks (block) AS (
            (SELECT w.block FROM dueline.job_words AS w WHERE w.block >= 0 ORDER BY w.block DESC LIMIT 1)
            UNION ALL
            SELECT o.block
            FROM blocks AS b
            CROSS JOIN LATERAL (
                SELECT w.block FROM dueline.job_words AS w WHERE w.block >= 0 AND w.block < b.block ORDER BY w.block DESC LIMIT 1
            ) AS o
        )
        SELECT b.block, o.id AS newest
        FROM blocks AS b
        CROSS JOIN LATERAL (
            SELECT w.id FROM dueline.job_words AS w
            WHERE w.block >= 0 AND w.block = b.block AND w.id < below
            ORDER BY w.id DESC
            LIMIT 1
        ) AS o
        ORDER BY o.id DESC
    LOOP
        EXIT WHEN ids[most + 1] > next.newest;
        IF asked IS NOT NULL AND clock_timestamp() >= until THEN
            rest := next.newest;
            EXIT;
        END IF;
        asked := replace(sought, E'\x1e', to_hex(next.block) || E'\x1f')::tsquery;
        ids := ARRAY(
            SELECT f.id
            FROM (
                SELECT unnest(ids)
                UNION ALL
                SELECT w.id FROM dueline.job_words AS w WHERE dueline.blocked(w.block, w.words) @@ asked AND (w.id < below) IS TRUE
            ) AS f (id)
            ORDER BY f.id DESC
            LIMIT most + 1
        );
    END LOOP;
    rest := greatest(rest, ids[most + 1]);
    ids := ARRAY(SELECT f.id FROM unnest(ids[:most]) AS f (id) WHERE (f.id > rest) IS NOT FALSE ORDER BY f.id DESC);
END
$body$;
