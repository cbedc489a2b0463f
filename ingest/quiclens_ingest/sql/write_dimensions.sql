-- One row is a value that is new or whose count has changed, or one that is there no more, as in `write_requests`.
INSERT INTO dimension_versions
WITH (/* is_mine.sql */) AS is_mine
SELECT
    *,
    {version:UInt64} AS version,
    0 AS is_deleted
FROM
(
    SELECT *
    FROM {dimensions:Identifier}
    EXCEPT DISTINCT
    SELECT *
    FROM {old_dimensions:Identifier}
)
WHERE is_mine
UNION ALL
SELECT
    *,
    {version:UInt64},
    1
FROM {old_dimensions:Identifier}
WHERE is_mine
    AND (dimension, started_hour, value) NOT IN
    (
        SELECT
            dimension,
            started_hour,
            value
        FROM {dimensions:Identifier}
    )
SETTINGS
    max_insert_threads = 1,
    min_insert_block_size_rows = 100000000,
    min_insert_block_size_bytes = 0,
    max_partitions_per_insert_block = 0
