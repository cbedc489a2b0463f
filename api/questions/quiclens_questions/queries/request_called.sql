-- One row is one request that has this external id, slowest first.
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
    SELECT
        started_hour,
        request_id
    FROM requests
    WHERE external_id = {name:String}
)
ORDER BY
    duration_us DESC NULLS LAST,
    request_id
LIMIT {limit:UInt32}
SETTINGS use_skip_indexes_on_data_read = 0
