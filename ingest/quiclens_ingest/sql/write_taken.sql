-- One row is the own request of a line that a traced request has taken across partitions: it is there no more. Nobody has
-- seen it since `write_requests`.
INSERT INTO request_versions
WITH (/* is_mine.sql */) AS is_mine
SELECT
    *,
    {version:UInt64} AS version,
    1 AS is_deleted
FROM {old:Identifier}
WHERE is_mine AND trace_id IS NULL AND line_key IN (SELECT line_key FROM {crossing:Identifier})
SETTINGS max_partitions_per_insert_block = 0
