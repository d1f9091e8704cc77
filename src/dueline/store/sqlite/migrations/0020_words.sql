-- Jobs found by words: what is looked through, apart from jobs and all else of them. It is the name, the tags and the URL or task of a living job,
-- with A to Z as small letters, each behind a U+001F; so every word has something before it that is no letter. A definition
-- that cannot be read has neither URL nor task: nothing is refused because of what it can be found by.
CREATE TABLE job_words (
    tenant TEXT NOT NULL,
    id     BLOB NOT NULL,
    words  TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID;
INSERT INTO job_words (tenant, id, words)
SELECT
    tenant, id,
    lower(
        char(31) || name || char(31) || tags || char(31)
        || iif(json_valid(definition), coalesce(definition ->> '$.execution.target.url', definition ->> '$.execution.target.task', ''), '')
    )
FROM jobs
WHERE deleted_ms IS NULL;

CREATE TRIGGER jobs_worded AFTER INSERT ON jobs WHEN new.deleted_ms IS NULL BEGIN
    INSERT INTO job_words (tenant, id, words)
    VALUES (
        new.tenant, new.id,
        lower(
            char(31) || new.name || char(31) || new.tags || char(31)
            || iif(json_valid(new.definition), coalesce(new.definition ->> '$.execution.target.url', new.definition ->> '$.execution.target.task', ''), '')
        )
    );
END;
CREATE TRIGGER jobs_words_changed AFTER UPDATE OF definition ON jobs
WHEN new.deleted_ms IS NULL AND new.version <> old.version BEGIN
    UPDATE job_words
    SET
        words = lower(
            char(31) || new.name || char(31) || new.tags || char(31)
            || iif(json_valid(new.definition), coalesce(new.definition ->> '$.execution.target.url', new.definition ->> '$.execution.target.task', ''), '')
        )
    WHERE tenant = new.tenant AND id = new.id;
END;
CREATE TRIGGER jobs_words_left AFTER UPDATE OF deleted_ms ON jobs WHEN new.deleted_ms IS NOT NULL BEGIN
    DELETE FROM job_words WHERE tenant = new.tenant AND id = new.id;
END;
CREATE TRIGGER jobs_words_gone AFTER DELETE ON jobs BEGIN
    DELETE FROM job_words WHERE tenant = old.tenant AND id = old.id;
END;
