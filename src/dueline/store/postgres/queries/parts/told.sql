announced AS (
    INSERT INTO dueline.changes (at_ms, told, ids) SELECT dueline.now_ms(), 'ended', array_agg(id) FROM kept HAVING count(*) > 0
), noted AS (
    INSERT INTO dueline.notices (run_id) SELECT id FROM ended WHERE notifies ON CONFLICT (run_id) DO NOTHING
)
