-- One row is one request: the slowest of each value of one column.
SELECT
    /* columns of SlowRequest */,
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
