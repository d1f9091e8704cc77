AND CASE WHEN $3::text IS NULL THEN true ELSE o.state = $3 END
AND CASE WHEN $4::text IS NULL THEN true ELSE o.queue = $4 END
AND CASE WHEN $5::text IS NULL THEN true ELSE o.tags @> ARRAY[$5] END
AND CASE WHEN $6::text IS NULL THEN true ELSE o.target_type = $6 END
