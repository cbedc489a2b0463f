-- One row is one request: the slowest of each value of one column.
SELECT
    request_id,
    external_id,
    connection_id,
    stream_id,
    started_at,
    server,
    carrier,
    region,
    vantage,
    source,
    method,
    authority,
    path,
    status,
    duration_us,
    logged_duration_us,
    top_cause,
    top_cause_us,
    coverage,
    grade,
    /* column */ AS by_value
FROM requests
WHERE ifNull(duration_us, 0) >= {min_us:UInt64}
    AND (/* in_window.sql */)
/* conditions */
ORDER BY
    duration_us DESC NULLS LAST,
    request_id
LIMIT {per_value:UInt32} BY /* column */
LIMIT {limit:UInt32}
