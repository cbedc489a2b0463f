-- One row is one request that goes by this id: its own first, then those whose external id it is, slowest first.
SELECT
    request_id,
    external_id,
    connection_id,
    stream_id,
    trace_id,
    vantage,
    source,
    link,
    coverage,
    weight,
    complete,
    duration_us,
    logged_duration_us,
    started_at,
    method,
    authority,
    path,
    status,
    protocol,
    server,
    carrier,
    region
FROM requests
WHERE (started_hour, request_id) IN (
    SELECT started_hour, request_id FROM requests WHERE request_id = {request_id:String}
    UNION ALL
    SELECT started_hour, request_id FROM requests WHERE external_id = {request_id:String}
)
ORDER BY
    request_id = {request_id:String} DESC,
    duration_us DESC NULLS LAST,
    request_id
LIMIT {limit:UInt32}
