-- One row is a request that is new or has changed, or one that is there no more, as the next version of its row. All of a
-- partition goes in as one block, so that who reads sees all of a change or nothing of it: a row that moves to another
-- minute, or takes a line from another, stays in the partition in which it was. Nothing is written without the lease.
INSERT INTO request_versions
WITH (/* is_mine.sql */) AS is_mine
SELECT
    changed.*,
    ifNull(toStartOfMinute(changed.started_at), toDateTime(0, 'UTC')) AS started_minute,
    ifNull(concat(changed.log_id, '/', toString(changed.offset)), '') AS line_key,
    multiIf(
        changed.trace_id IS NOT NULL AND of_stream.request_id != '', of_stream.day,
        of_line.line_key != '', of_line.day,
        toDate(changed.started_hour)
    ) AS day,
    changed.trace_id IS NOT NULL AND line_key IN (SELECT line_key FROM {crossing:Identifier}) AS crosses,
    {version:UInt64} AS version,
    0 AS is_deleted
FROM
(
    SELECT *
    FROM {requests:Identifier}
    EXCEPT DISTINCT
    SELECT * EXCEPT (started_minute, line_key, day, crosses)
    FROM {old:Identifier}
) AS changed
LEFT JOIN
(
    SELECT
        request_id,
        any(day) AS day
    FROM {old:Identifier}
    WHERE trace_id IS NOT NULL
    GROUP BY request_id
) AS of_stream ON of_stream.request_id = changed.request_id
LEFT JOIN
(
    SELECT
        line_key,
        any(day) AS day
    FROM {old:Identifier}
    WHERE line_key != ''
    GROUP BY line_key
) AS of_line ON of_line.line_key = ifNull(concat(changed.log_id, '/', toString(changed.offset)), '')
WHERE is_mine
UNION ALL
SELECT
    *,
    {version:UInt64},
    1
FROM {old:Identifier}
WHERE is_mine
    AND NOT (trace_id IS NULL AND line_key IN (SELECT line_key FROM {crossing:Identifier}))
    AND (started_hour, started_minute, request_id, line_key) NOT IN
    (
        SELECT
            started_hour,
            ifNull(toStartOfMinute(started_at), toDateTime(0, 'UTC')),
            request_id,
            ifNull(concat(log_id, '/', toString(offset)), '')
        FROM {requests:Identifier}
    )
SETTINGS
    max_insert_threads = 1,
    min_insert_block_size_rows = 100000000,
    min_insert_block_size_bytes = 0,
    max_partitions_per_insert_block = 0
