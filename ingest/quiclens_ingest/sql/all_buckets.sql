-- One row is five minutes of a day in which requests began.
SELECT DISTINCT toStartOfFiveMinutes(ifNull(started_at, toDateTime64(0, 6, 'UTC'))) AS bucket_at
FROM request_versions
WHERE day = {day:Date}
ORDER BY bucket_at
