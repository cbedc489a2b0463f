-- One row is one request, the slowest first. Undated requests are there only without a `since`.
SELECT
    /* columns of SlowRequest */,
    ifNull(log_id, '') AS line_log_id,
    ifNull(offset, 0) AS line_offset
FROM requests
WHERE ifNull(duration_us, 0) >= {min_us:UInt64}
    AND (/* in_window.sql */)
    AND
    (
        {is_first:Bool}
        OR isNotNull({after_us:Nullable(UInt64)}) AND (duration_us IS NULL OR duration_us < {after_us:Nullable(UInt64)})
        OR duration_us IS NOT DISTINCT FROM {after_us:Nullable(UInt64)}
            AND (request_id, ifNull(log_id, ''), ifNull(offset, 0)) > ({after_id:String}, {after_log:String}, {after_offset:UInt64})
    )
/* conditions */
ORDER BY
    duration_us DESC NULLS LAST,
    request_id,
    line_log_id,
    line_offset
LIMIT {limit:UInt32}
