-- One row is a request that has a stream, with its earliest line if it has one: what the line says of the request and the
-- client comes first, what the trace says of time comes first. An empty text is no value.
INSERT INTO {requests:Identifier}
WITH
    chosen AS
    (
        SELECT *
        FROM {pairs:Identifier}
        WHERE NOT is_ambiguous
        ORDER BY
            rank,
            start_at,
            log_id,
            offset
        LIMIT 1 BY connection_id, stream_id
    ),
    lines AS
    (
        SELECT
            every.*,
            chosen.connection_id AS of_connection_id,
            assumeNotNull(chosen.stream_id) AS of_stream_id,
            ['id', 'alias', 'tuple'][chosen.rank + 1] AS link
        FROM {lines:Identifier} AS every
        INNER JOIN chosen ON chosen.log_id = every.log_id AND chosen.offset = every.offset
    ),
    [
        'handshake',
        'amplification',
        'upload',
        'server_think',
        'pto',
        'loss_recovery',
        'connection_flow_control',
        'stream_flow_control',
        'stream_limit',
        'scheduling',
        'bandwidth',
        'cwnd_blocked',
        'pacing',
        'app_limited',
        'queueing',
        'network',
        'remote_wait',
        'receiving',
        'receiver_hol',
        'unattributed'
    ] AS causes,
    [
        streams.handshake_us,
        streams.amplification_us,
        streams.upload_us,
        streams.server_think_us,
        streams.pto_us,
        streams.loss_recovery_us,
        streams.connection_flow_control_us,
        streams.stream_flow_control_us,
        streams.stream_limit_us,
        streams.scheduling_us,
        streams.bandwidth_us,
        streams.cwnd_blocked_us,
        streams.pacing_us,
        streams.app_limited_us,
        streams.queueing_us,
        streams.network_us,
        streams.remote_wait_us,
        streams.receiving_us,
        streams.receiver_hol_us,
        streams.unattributed_us
    ] AS parts
SELECT
    concat(streams.connection_id, '/', toString(streams.stream_id)) AS request_id,
    ifNull(toStartOfHour(started_at), toDateTime(0, 'UTC')) AS started_hour,
    ifNull(streams.started_at, lines.start_at) AS started_at,
    ifNull(nullIf(lines.external_id, ''), streams.external_id) AS external_id,
    streams.connection_id,
    streams.stream_id,
    streams.trace_id,
    streams.vantage,
    lines.log_id,
    lines.offset,
    multiIf(isNotNull(lines.log_id), 'log', isNotNull(streams.method), 'http', 'stream') AS source,
    ifNull(lines.link, 'none') AS link,
    multiIf(
        streams.events_kept != 'all', 'summary',
        streams.connection_complete AND streams.complete, 'full',
        'partial'
    ) AS coverage,
    -- A request is here when it has a line, whatever was traced; without one only its trace brings it here. Whether the
    -- trace's events were kept changes nothing: its summaries always are.
    if(isNull(lines.log_id), (/* trace_weight.sql */), 1) AS weight,
    streams.complete,
    streams.duration_us,
    lines.duration_us AS logged_duration_us,
    if(arrayMax(parts) > 0, causes[indexOf(parts, arrayMax(parts))], NULL) AS top_cause,
    if(arrayMax(parts) > 0, arrayMax(parts), NULL) AS top_cause_us,
    ifNull(nullIf(lines.method, ''), streams.method) AS method,
    ifNull(nullIf(lines.authority, ''), streams.authority) AS authority,
    ifNull(nullIf(lines.path, ''), streams.path) AS path,
    ifNull(lines.status, streams.status) AS status,
    ifNull(lines.request_bytes, streams.request_bytes) AS request_bytes,
    ifNull(lines.response_bytes, streams.response_bytes) AS response_bytes,
    ifNull(nullIf(lines.protocol, ''), if(isNotNull(streams.method), 'h3', NULL)) AS protocol,
    ifNull(nullIf(lines.server, ''), streams.server) AS server,
    ifNull(nullIf(lines.cluster, ''), streams.cluster) AS cluster,
    ifNull(nullIf(lines.pop, ''), streams.pop) AS pop,
    ifNull(nullIf(lines.client_network, ''), streams.client_network) AS client_network,
    ifNull(nullIf(lines.carrier, ''), streams.carrier) AS carrier,
    ifNull(lines.asn, streams.asn) AS asn,
    ifNull(nullIf(lines.country, ''), streams.country) AS country,
    ifNull(nullIf(lines.region, ''), streams.region) AS region,
    ifNull(nullIf(lines.city, ''), streams.city) AS city,
    ifNull(nullIf(lines.h3_cell, ''), streams.h3_cell) AS h3_cell,
    ifNull(nullIf(lines.network_type, ''), streams.network_type) AS network_type,
    nullIf(lines.app, '') AS app,
    ifNull(nullIf(lines.app_version, ''), streams.app_version) AS app_version,
    ifNull(nullIf(lines.device, ''), streams.device) AS device,
    nullIf(lines.user_hash, '') AS user_hash,
    lines.request_number,
    nullIf(lines.arm, '') AS arm,
    nullIf(streams.stack, '') AS stack,
    nullIf(streams.congestion_controller, '') AS congestion_controller,
    ifNull(streams.rtt_us, lines.rtt_us) AS rtt_us,
    streams.min_rtt_us,
    streams.packets_lost,
    streams.handshake_us,
    streams.amplification_us,
    streams.upload_us,
    streams.server_think_us,
    streams.pto_us,
    streams.loss_recovery_us,
    streams.connection_flow_control_us,
    streams.stream_flow_control_us,
    streams.stream_limit_us,
    streams.scheduling_us,
    streams.bandwidth_us,
    streams.cwnd_blocked_us,
    streams.pacing_us,
    streams.app_limited_us,
    streams.queueing_us,
    streams.network_us,
    streams.remote_wait_us,
    streams.receiving_us,
    streams.receiver_hol_us,
    streams.unattributed_us,
    streams.saves,
    streams.cannot_show,
    streams.grade,
    streams.imputed_us,
    streams.bounds_low,
    streams.bounds_high,
    lines.rtt_variance_us,
    lines.tcp_congestion_window_packets,
    lines.tcp_packets_lost_outstanding,
    lines.tcp_packets_retransmitted_outstanding,
    streams.end_is,
    (/* trace_weight.sql */) AS trace_weight,
    nullIf(streams.zero_rtt, '') AS zero_rtt,
    streams.migrations,
    streams.initial_congestion_window,
    nullIf(streams.stack_version, '') AS stack_version,
    nullIf(streams.quic_version, '') AS quic_version,
    ifNull(lines.server_release, streams.server_release) AS server_release
FROM {streams:Identifier} AS streams
LEFT JOIN lines
    ON lines.of_connection_id = streams.connection_id
    AND lines.of_stream_id = streams.stream_id
ORDER BY
    started_hour,
    request_id
SETTINGS join_use_nulls = 1
