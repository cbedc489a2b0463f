-- One row is what the access log says of a request beside what everybody asks.
SELECT
    cluster,
    pop,
    client_network,
    asn,
    country,
    city,
    network_type,
    app,
    app_version,
    device,
    user_hash,
    request_number,
    arm,
    log_id,
    offset,
    request_bytes,
    response_bytes,
    rtt_us,
    rtt_variance_us,
    tcp_congestion_window_packets,
    tcp_packets_lost_outstanding,
    tcp_packets_retransmitted_outstanding,
    server_release
FROM requests
WHERE request_id = {name:String}
LIMIT 1
SETTINGS use_skip_indexes_on_data_read = 0
