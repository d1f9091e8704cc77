AND (?5 IS NULL OR kind = ?5) AND (?6 IS NULL OR instr(tags, ?6)) AND (?8 IS NULL OR queue = ?8)
