-- name: list
SELECT shard, epoch, owner FROM dueline.shards ORDER BY shard;

-- name: take
-- Shards without a registered owner, if nobody else took them since they were looked at, for a process that is not about to leave.
UPDATE dueline.shards AS s
SET epoch = s.epoch + 1, owner = $1
FROM unnest($2::smallint[], $3::bigint[]) AS t (shard, epoch)
WHERE
    s.shard = t.shard AND s.epoch = t.epoch
    AND NOT EXISTS (SELECT FROM dueline.nodes AS n WHERE n.boot_id = s.owner)
    AND EXISTS (SELECT FROM dueline.nodes AS n WHERE n.boot_id = $1 AND NOT n.draining)
RETURNING s.shard, s.epoch;

-- name: drop
UPDATE dueline.shards AS s
SET owner = NULL
FROM unnest($2::smallint[], $3::bigint[]) AS t (shard, epoch)
WHERE s.shard = t.shard AND s.epoch = t.epoch AND s.owner = $1;
