-- One row is one server that a request of the last day names: when its newest request began.
SELECT
    assumeNotNull(server) AS server_name,
    max(started_at) AS last_at
FROM requests
WHERE started_hour >= toStartOfHour({since:DateTime64(6, 'UTC')})
    AND started_at >= {since:DateTime64(6, 'UTC')}
    AND server IS NOT NULL
GROUP BY server_name
ORDER BY server_name
LIMIT {limit:UInt32}
