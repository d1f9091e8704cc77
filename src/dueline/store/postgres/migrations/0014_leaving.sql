-- Runs that ended, each with its job, leave the jobs' places; the first held run of each job becomes ready.

-- Each statement has a snapshot of its own: whoever holds a run locks the place, so once the places are locked here, in the order of their
-- jobs as those do who hold runs for several of them, the second statement sees every run that was held for them. The places go last,
-- because a claim waits for a place that is going while it has runs locked: from there on nothing may be waited for any more.
-- Ids that were given are said twice, and the subscripts make the planner expect many: see 0013.
CREATE FUNCTION dueline.leave_places(run_ids uuid[], job_ids uuid[]) RETURNS TABLE (queue text) LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE
    left_jobs uuid[] := ARRAY(
        SELECT p.job_id
        FROM ROWS FROM (unnest(run_ids, job_ids), generate_subscripts(run_ids, 1)) AS e (run_id, job_id)
        JOIN dueline.places AS p ON p.job_id = e.job_id AND p.run_id = e.run_id AND p.job_id = ANY(job_ids)
        ORDER BY p.job_id
        FOR UPDATE OF p
    );
BEGIN
    IF cardinality(left_jobs) = 0 THEN
        RETURN;
    END IF;
    RETURN QUERY
    UPDATE dueline.runs AS r
    SET state = 'ready', reason = NULL, token = r.token + 1
    WHERE r.state = 'held' AND r.id = ANY(ARRAY(
        SELECT DISTINCT ON (h.job_id) h.id
        FROM dueline.runs AS h
        WHERE h.job_id = ANY(left_jobs) AND h.state = 'held' AND h.waits_for IS NULL AND h.reason = 'overlap'
        ORDER BY h.job_id, h.id
    ))
    RETURNING r.queue;
    DELETE FROM dueline.places WHERE job_id = ANY(left_jobs);
END
$body$;
