-- name: add_day
-- Make the partition of one day, named by its first millisecond.
SELECT dueline.add_history_day($1);
