-- One row is one connection as the trace that speaks for it saw it (server before client before network, complete
-- before cut, most events, smallest trace_id). Who the client was is known to the trace, or else to its access log.
SELECT
    *
FROM
(
    SELECT
        c.connection_id AS connection_id,
        c.vantage AS vantage,
        c.trace_id AS trace_id,
        c.analysis_version AS analysis_version,
        c.started_at AS started_at,
        c.duration_us AS duration_us,
        c.complete AS complete,
        c.events_seen AS events_seen,
        c.events_kept AS events_kept,
        c.event_probability AS event_probability,
        c.trace_probability AS trace_probability,
        c.handshake_complete AS handshake_complete,
        c.close_reason AS close_reason,
        c.close_code AS close_code,
        c.close_owner AS close_owner,
        c.handshake_us AS handshake_us,
        c.zero_rtt AS zero_rtt,
        c.retries AS retries,
        c.packets_sent AS packets_sent,
        c.retransmitted_packets AS retransmitted_packets,
        c.unique_stream_bytes_sent AS unique_stream_bytes_sent,
        c.packets_lost AS packets_lost,
        c.packets_lost_handshake AS packets_lost_handshake,
        c.packets_lost_data AS packets_lost_data,
        c.packets_spurious AS packets_spurious,
        c.ptos AS ptos,
        c.ptos_spurious AS ptos_spurious,
        c.rtt_samples AS rtt_samples,
        c.rtt_mean_us AS rtt_mean_us,
        c.rtt_stdev_us AS rtt_stdev_us,
        c.rtt_histogram AS rtt_histogram,
        c.requests AS request_count,
        c.open_episodes AS open_episodes,
        c.packets_sent + c.packets_received AS packets,
        toHour(toTimeZone(c.started_at, {time_zone:String})) AS hour,
        formatDateTime(toTimeZone(c.started_at, {time_zone:String}), '%a') AS weekday,
        toNullable(c.stack) AS stack,
        toNullable(c.stack_version) AS stack_version,
        toNullable(c.quic_version) AS quic_version,
        toNullable(c.congestion_controller) AS congestion_controller,
        ifNull(c.server, line.server) AS server,
        ifNull(c.cluster, line.cluster) AS cluster,
        ifNull(c.pop, line.pop) AS pop,
        ifNull(c.server_release, line.server_release) AS server_release,
        ifNull(c.carrier, line.carrier) AS carrier,
        ifNull(c.asn, line.asn) AS asn,
        ifNull(c.country, line.country) AS country,
        ifNull(c.region, line.region) AS region,
        ifNull(c.city, line.city) AS city,
        ifNull(c.h3_cell, line.h3_cell) AS h3_cell,
        ifNull(c.network_type, line.network_type) AS network_type,
        ifNull(c.app_version, line.app_version) AS app_version,
        ifNull(c.device, line.device) AS device,
        ifNull(c.client_network, line.client_network) AS client_network,
        coalesce(line.user_hash, c.connection_id) AS sample_cluster,
        1 / if(c.trace_probability BETWEEN 0.000001 AND 1, c.trace_probability, 1) AS connection_weight
    FROM (/* connections_in_window.sql */) AS c
    LEFT JOIN
    (
        SELECT
            connection_id,
            min(server) AS server,
            min(cluster) AS cluster,
            min(pop) AS pop,
            min(server_release) AS server_release,
            min(carrier) AS carrier,
            min(asn) AS asn,
            min(country) AS country,
            min(region) AS region,
            min(city) AS city,
            min(h3_cell) AS h3_cell,
            min(network_type) AS network_type,
            min(app_version) AS app_version,
            min(device) AS device,
            min(client_network) AS client_network,
            min(user_hash) AS user_hash
        FROM requests
        WHERE connection_id IN (SELECT toNullable(connection_id) FROM connections WHERE (/* began_in_window.sql */))
            AND (/* hours_of_connections.sql */)
        GROUP BY connection_id
    ) AS line ON line.connection_id = c.connection_id
)
WHERE true
/* conditions */
ORDER BY
    connection_id,
    transform(vantage, ['server', 'client', 'network'], [0, 1, 2], 3),
    complete DESC,
    events_seen DESC,
    trace_id
LIMIT 1 BY connection_id
