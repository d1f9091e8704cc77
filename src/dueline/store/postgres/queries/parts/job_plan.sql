LEFT JOIN LATERAL (SELECT next_ms, due_ms, awaiting, runs_left FROM dueline.plans WHERE job_id = j.id OFFSET 0) AS p ON true
