-- One row is one request: the slowest first, or those first that took the most times as long as is usual. `place` is what
-- they are sorted by; those that have none come last. Undated requests are there only without a `since`.
SELECT
    /* columns of ListedRequest */,
    /* usual */ AS usual_us,
    /* place */ AS place,
    ifNull(log_id, '') AS line_log_id,
    ifNull(offset, 0) AS line_offset
FROM requests
/* beside usual */
WHERE ifNull(duration_us, 0) >= {min_us:UInt64}
    AND (/* in_window.sql */)
    AND
    (
        {is_first:Bool}
        OR isNotNull({after_place:Nullable(UInt64)}) AND (place IS NULL OR place < {after_place:Nullable(UInt64)})
        OR place IS NOT DISTINCT FROM {after_place:Nullable(UInt64)}
            AND (request_id, ifNull(log_id, ''), ifNull(offset, 0)) > ({after_id:String}, {after_log:String}, {after_offset:UInt64})
    )
/* conditions */
ORDER BY
    place DESC NULLS LAST,
    request_id,
    line_log_id,
    line_offset
LIMIT {limit:UInt32}
