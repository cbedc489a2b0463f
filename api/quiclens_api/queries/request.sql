-- One row is the request of this id.
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
WHERE request_id = {name:String}
LIMIT {limit:UInt32}
