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
    region,
    city,
    network_type,
    request_bytes,
    response_bytes,
    rtt_us,
    rtt_variance_us,
    tcp_congestion_window_packets,
    tcp_packets_lost_outstanding,
    tcp_packets_retransmitted_outstanding
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
