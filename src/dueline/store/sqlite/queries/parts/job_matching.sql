AND (?3 IS NULL OR j.state = ?3)
AND (?4 IS NULL OR j.queue = ?4)
AND (?5 IS NULL OR instr(j.tags, ?5))
AND (?6 IS NULL OR j.target_type = ?6)
