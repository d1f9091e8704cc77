-- Lists of jobs, however few of very many are looked for: each filter has the ids of what it lets through in their order.

-- A state is written when a job is paused, resumed or exhausted; the others change with its definition only. None changes when a plan fires.
CREATE INDEX jobs_state ON dueline.jobs (tenant, state, id) WHERE deleted_ms IS NULL;
CREATE INDEX jobs_queue ON dueline.jobs (tenant, queue, id) WHERE deleted_ms IS NULL;
CREATE INDEX jobs_target ON dueline.jobs (tenant, target_type, id) WHERE deleted_ms IS NULL;

-- Names as before, with the ids of those who have them.
DROP INDEX dueline.jobs_name;
CREATE UNIQUE INDEX jobs_name ON dueline.jobs (tenant, name COLLATE "C") INCLUDE (id) WHERE deleted_ms IS NULL;

-- The tags of living jobs. An index of arrays finds all that have a tag, in no order, so a page would take as long as all of them. It is kept
-- by triggers, so that processes of an earlier release keep it too; a job without tags pays a comparison.
DROP INDEX dueline.jobs_tags;
CREATE TABLE dueline.job_tags (
    tenant text NOT NULL,
    tag    text COLLATE "C" NOT NULL,
    id     uuid NOT NULL,
    PRIMARY KEY (tenant, tag, id)
);
INSERT INTO dueline.job_tags (tenant, tag, id)
SELECT DISTINCT j.tenant, t.tag, j.id FROM dueline.jobs AS j CROSS JOIN unnest(j.tags) AS t (tag) WHERE j.deleted_ms IS NULL;

CREATE FUNCTION dueline.keep_tags() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM dueline.job_tags WHERE tenant = old.tenant AND tag = ANY(old.tags) AND id = old.id;
    END IF;
    IF new.deleted_ms IS NULL THEN
        INSERT INTO dueline.job_tags (tenant, tag, id)
        SELECT DISTINCT new.tenant, t.tag, new.id FROM unnest(new.tags) AS t (tag);
    END IF;
    RETURN NULL;
END
$body$;
CREATE TRIGGER jobs_tagged AFTER INSERT ON dueline.jobs
FOR EACH ROW WHEN (new.tags <> '{}') EXECUTE FUNCTION dueline.keep_tags();
CREATE TRIGGER jobs_tags_changed AFTER UPDATE ON dueline.jobs
FOR EACH ROW WHEN (
    (old.tags, old.deleted_ms IS NULL) IS DISTINCT FROM (new.tags, new.deleted_ms IS NULL)
) EXECUTE FUNCTION dueline.keep_tags();
