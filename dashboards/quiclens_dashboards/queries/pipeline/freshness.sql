-- One row: when the newest request and the newest trace of the window began, in ms since 1970.
SELECT
    toUnixTimestamp64Milli(toDateTime64(max(started_at), 3)) AS newest_request_ms,
    (
        SELECT toUnixTimestamp64Milli(toDateTime64(max(started_at), 3))
        FROM connections
        WHERE trace_day >= toDate($__fromTime, 'UTC')
            AND trace_day <= toDate($__toTime, 'UTC')
            AND $__timeFilter(started_at)
    ) AS newest_trace_ms
FROM requests
WHERE started_hour > $__fromTime - INTERVAL 1 HOUR AND started_hour <= $__toTime AND $__timeFilter(started_at)
LIMIT 1
