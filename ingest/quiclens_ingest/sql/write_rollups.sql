-- One row is a rollup that is new or has changed, or one that is there no more, as in `write_requests`.
INSERT INTO rollup_versions
WITH (/* is_mine.sql */) AS is_mine
SELECT
    *,
    {version:UInt64} AS version,
    0 AS is_deleted
FROM
(
    SELECT *
    FROM {rollups:Identifier}
    EXCEPT DISTINCT
    SELECT *
    FROM {old_rollups:Identifier}
)
WHERE is_mine
UNION ALL
SELECT
    *,
    {version:UInt64},
    1
FROM {old_rollups:Identifier}
WHERE is_mine
    AND (bucket_at, carrier, region, city, pop, protocol, network_type, app_version, server_release) NOT IN
    (
        SELECT
            bucket_at,
            carrier,
            region,
            city,
            pop,
            protocol,
            network_type,
            app_version,
            server_release
        FROM {rollups:Identifier}
    )
SETTINGS
    transform_null_in = 1,
    max_insert_threads = 1,
    min_insert_block_size_rows = 100000000,
    min_insert_block_size_bytes = 0,
    max_partitions_per_insert_block = 0
