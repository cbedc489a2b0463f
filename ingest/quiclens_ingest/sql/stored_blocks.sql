-- One row is a part: a run of blocks of one partition of one table.
SELECT
    parts.table AS table,
    NOT match(parts.engine, '^(Replacing)?MergeTree$') AS is_replicated,
    partition_id,
    min_block_number,
    max_block_number
FROM system.parts AS parts
WHERE database = currentDatabase() AND active AND parts.table IN {tables:Array(String)}
ORDER BY
    table,
    partition_id,
    min_block_number
