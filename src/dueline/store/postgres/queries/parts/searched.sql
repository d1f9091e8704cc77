-- if searched:
AND CASE
    WHEN
        strpos(lower(attempts COLLATE "C"), <longest>) > 0 OR strpos(lower(reason COLLATE "C"), <longest>) > 0
        OR strpos(lower((SELECT j.name FROM dueline.jobs AS j WHERE j.id = job_id) COLLATE "C"), <longest>) > 0
    THEN
        lower(
            concat_ws(
                E'\x1f', '', (SELECT j.name FROM dueline.jobs AS j WHERE j.id = job_id), reason,
                (
                    SELECT string_agg(a.value #>> '{outcome,error}', E'\x1f')
                    FROM json_array_elements(('[' || replace(attempts, '\u0000', '\u0020') || ']')::json) AS a (value)
                )
            ) COLLATE "C"
        ) ~ ALL(<begun>::text[])
    ELSE false
END
-- :if searched
