-- One row is one request, the slowest first.
SELECT
    request_id,
    started_at,
    duration_us,
    top_cause,
    top_cause_us,
    carrier,
    region,
    city,
    protocol,
    server,
    method,
    path,
    status,
    connection_id,
    coverage
FROM (/* requests.sql */)
WHERE duration_us IS NOT NULL
ORDER BY
    duration_us DESC,
    request_id
LIMIT 50
