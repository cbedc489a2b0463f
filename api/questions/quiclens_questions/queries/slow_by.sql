-- One row is one request: those that slow.sql has first, of each value of one column.
SELECT
    /* columns of ListedRequest */,
    /* usual */ AS usual_us,
    /* column */ AS by_value
FROM requests
/* beside usual */
WHERE ifNull(duration_us, 0) >= {min_us:UInt64}
    AND (/* in_window.sql */)
/* conditions */
ORDER BY
    /* place */ DESC NULLS LAST,
    request_id
LIMIT {per_value:UInt32} BY /* column */
LIMIT {limit:UInt32}
