-- One row is an hour that `requests` has or should have.
SELECT DISTINCT hour
FROM
(
    SELECT ifNull(toStartOfHour(started_at), toDateTime(0, 'UTC')) AS hour
    FROM streams
    UNION ALL
    SELECT toStartOfHour(if(time_is = 'end', time - toIntervalMicrosecond(ifNull(duration_us, 0)), time)) AS hour
    FROM request_lines
    UNION ALL
    SELECT started_hour AS hour
    FROM requests
)
ORDER BY hour
LIMIT 10000000
