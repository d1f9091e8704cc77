j.id, j.tenant, j.state, j.version, j.definition, p.next_ms, p.due_ms, p.awaiting, p.runs_left, j.pause_note, j.created_ms,
j.updated_ms, j.since_ms
