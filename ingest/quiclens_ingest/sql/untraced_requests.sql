-- One row is a line that means no stream, or may mean several. An empty text is no value.
INSERT INTO {requests:Identifier}
WITH doubtful AS
(
    SELECT
        log_id,
        offset,
        is_ambiguous
    FROM {pairs:Identifier}
)
SELECT
    if(
        isNull(lines.connection_id) OR isNull(lines.stream_id)
        OR (lines.connection_id, lines.stream_id) IN
        (
            SELECT
                connection_id,
                stream_id
            FROM {streams:Identifier}
        ),
        concat('log:', lines.log_id, '/', toString(lines.offset)),
        concat(lines.connection_id, '/', toString(lines.stream_id))
    ) AS request_id,
    ifNull(toStartOfHour(lines.start_at), toDateTime(0, 'UTC')) AS started_hour,
    lines.start_at AS started_at,
    nullIf(lines.external_id, '') AS external_id,
    lines.connection_id,
    lines.stream_id,
    NULL AS trace_id,
    NULL AS vantage,
    lines.log_id,
    lines.offset,
    'log' AS source,
    if(ifNull(doubtful.is_ambiguous, 0), 'ambiguous', 'none') AS link,
    'none' AS coverage,
    1 AS weight,
    true AS complete,
    lines.duration_us,
    lines.duration_us AS logged_duration_us,
    NULL AS top_cause,
    NULL AS top_cause_us,
    nullIf(lines.method, '') AS method,
    nullIf(lines.authority, '') AS authority,
    nullIf(lines.path, '') AS path,
    lines.status,
    lines.request_bytes,
    lines.response_bytes,
    nullIf(lines.protocol, '') AS protocol,
    nullIf(lines.server, '') AS server,
    nullIf(lines.cluster, '') AS cluster,
    nullIf(lines.pop, '') AS pop,
    nullIf(lines.client_network, '') AS client_network,
    nullIf(lines.carrier, '') AS carrier,
    lines.asn,
    nullIf(lines.country, '') AS country,
    nullIf(lines.region, '') AS region,
    nullIf(lines.city, '') AS city,
    nullIf(lines.h3_cell, '') AS h3_cell,
    nullIf(lines.network_type, '') AS network_type,
    nullIf(lines.app, '') AS app,
    nullIf(lines.app_version, '') AS app_version,
    nullIf(lines.device, '') AS device,
    nullIf(lines.user_hash, '') AS user_hash,
    lines.request_number,
    nullIf(lines.arm, '') AS arm,
    NULL AS stack,
    NULL AS congestion_controller,
    lines.rtt_us,
    NULL AS min_rtt_us,
    NULL AS packets_lost,
    0 AS handshake_us,
    0 AS amplification_us,
    0 AS upload_us,
    0 AS server_think_us,
    0 AS pto_us,
    0 AS loss_recovery_us,
    0 AS connection_flow_control_us,
    0 AS stream_flow_control_us,
    0 AS stream_limit_us,
    0 AS scheduling_us,
    0 AS bandwidth_us,
    0 AS cwnd_blocked_us,
    0 AS pacing_us,
    0 AS app_limited_us,
    0 AS queueing_us,
    0 AS network_us,
    0 AS remote_wait_us,
    0 AS receiving_us,
    0 AS receiver_hol_us,
    0 AS unattributed_us,
    map() AS saves,
    [] AS cannot_show,
    '' AS grade,
    0 AS imputed_us,
    map() AS bounds_low,
    map() AS bounds_high,
    lines.rtt_variance_us,
    lines.tcp_congestion_window_packets,
    lines.tcp_packets_lost_outstanding,
    lines.tcp_packets_retransmitted_outstanding,
    NULL AS end_is,
    0 AS trace_weight,
    NULL AS zero_rtt,
    NULL AS migrations,
    NULL AS initial_congestion_window,
    NULL AS stack_version,
    NULL AS quic_version,
    lines.server_release
FROM {lines:Identifier} AS lines
LEFT JOIN doubtful ON doubtful.log_id = lines.log_id AND doubtful.offset = lines.offset
WHERE (isNull(doubtful.log_id) OR doubtful.is_ambiguous)
ORDER BY
    started_hour,
    request_id,
    lines.log_id,
    lines.offset
SETTINGS join_use_nulls = 1
