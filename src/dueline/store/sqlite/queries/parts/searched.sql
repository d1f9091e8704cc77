-- if searched:
AND (
    instr(lower(attempts), ?10) OR instr(lower(reason), ?10) OR instr(lower((SELECT j.name FROM jobs AS j WHERE j.id = job_id)), ?10)
)
AND NOT EXISTS (
    SELECT 1
    FROM (
        SELECT
            lower(
                char(31) || coalesce((SELECT j.name FROM jobs AS j WHERE j.id = job_id), '') || char(31) || coalesce(reason, '') || char(31)
                || coalesce((
                    SELECT group_concat(a.value ->> '$.outcome.error', char(31))
                    FROM json_each('[' || replace(attempts, '\u0000', '\u0020') || ']') AS a
                ), '')
            ) AS told
    ) AS t
    CROSS JOIN json_each(?11) AS b
    WHERE t.told NOT GLOB b.value
)
-- :if searched
