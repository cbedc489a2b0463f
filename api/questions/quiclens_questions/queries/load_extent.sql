-- One row: the first and the last moment of the requests that were asked for, in us since 1970.
SELECT
    toUnixTimestamp64Micro(min(assumeNotNull(started_at))) AS first_us,
    toUnixTimestamp64Micro(max(assumeNotNull(started_at))) AS last_us,
    count() AS requests
FROM requests
WHERE started_at IS NOT NULL
    AND (/* in_window.sql */)
/* conditions */
LIMIT 1
