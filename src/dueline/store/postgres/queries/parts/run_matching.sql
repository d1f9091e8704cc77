AND ($5::text IS NULL OR kind = $5) AND ($6::text IS NULL OR tags @> ARRAY[$6]) AND ($8::text IS NULL OR queue = $8)
