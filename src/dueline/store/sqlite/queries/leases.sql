-- name: list
SELECT shard, epoch, owner FROM shards ORDER BY shard;

-- name: take
-- Shards without a registered owner, if nobody else took them since they were looked at, for a process that is not about to leave.
UPDATE shards
SET epoch = shards.epoch + 1, owner = ?1
FROM (SELECT value ->> 0 AS shard, value ->> 1 AS epoch FROM jsonb_each(?2)) AS t
WHERE
    shards.shard = t.shard AND shards.epoch = t.epoch
    AND NOT EXISTS (SELECT 1 FROM nodes AS n WHERE n.boot_id = shards.owner)
    AND EXISTS (SELECT 1 FROM nodes AS n WHERE n.boot_id = ?1 AND NOT n.draining)
RETURNING shard, epoch;

-- name: drop
UPDATE shards
SET owner = NULL
FROM (SELECT value ->> 0 AS shard, value ->> 1 AS epoch FROM jsonb_each(?2)) AS t
WHERE shards.shard = t.shard AND shards.epoch = t.epoch AND shards.owner = ?1;
