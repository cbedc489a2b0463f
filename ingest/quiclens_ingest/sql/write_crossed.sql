-- One row is a traced request whose line has no request of its own any more: as it was, but that it crosses nothing.
INSERT INTO request_versions
WITH (/* is_mine.sql */) AS is_mine
SELECT *
REPLACE (0 AS crosses, {version:UInt64} AS version)
FROM request_versions AS stored FINAL
WHERE is_mine AND stored.crosses = 1 AND line_key IN (SELECT line_key FROM {crossing:Identifier})
SETTINGS
    max_partitions_per_insert_block = 0,
    do_not_merge_across_partitions_select_final = 1
