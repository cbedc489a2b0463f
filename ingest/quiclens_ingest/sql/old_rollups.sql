-- One row is a rollup that stands in the store for one of these five minutes.
INSERT INTO {old_rollups:Identifier}
SELECT *
FROM request_rollups
WHERE bucket_at IN {buckets:Array(DateTime('UTC'))}
SETTINGS do_not_merge_across_partitions_select_final = 1
