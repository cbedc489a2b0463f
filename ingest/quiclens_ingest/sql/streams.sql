-- One row is one stream of the connections in hand, as its best trace saw it: the server's before the client's before the
-- network's, a complete trace before a cut one, one that saw the request end, most events, then the smallest trace_id: as
-- `explain` chooses for a stream without a row of `requests`. The newest versions are chosen here, as FINAL would.
INSERT INTO {streams:Identifier}
SELECT
    streams.*,
    connections.started_at AS connection_started_at,
    connections.ended_at AS connection_ended_at,
    connections.complete AS connection_complete,
    connections.events_kept,
    connections.event_probability,
    connections.trace_probability,
    connections.stack,
    connections.congestion_controller,
    connections.server,
    connections.cluster,
    connections.pop,
    connections.client_network,
    connections.carrier,
    connections.asn,
    connections.country,
    connections.region,
    connections.city,
    connections.h3_cell,
    connections.network_type,
    connections.app_version,
    connections.device,
    connections.zero_rtt,
    connections.migrations,
    connections.initial_congestion_window,
    connections.stack_version,
    connections.quic_version,
    connections.server_release
FROM
(
    SELECT * REPLACE ((/* start_of_a_trace.sql */) AS started_at)
    FROM streams
    WHERE trace_day IN (SELECT day FROM {connections:Identifier})
        AND connection_id IN (SELECT connection_id FROM {connections:Identifier})
    ORDER BY
        version DESC,
        _block_number DESC
    LIMIT 1 BY connection_id, vantage, trace_id, stream_id
) AS streams
INNER JOIN
(
    SELECT
        * REPLACE ((/* start_of_a_trace.sql */) AS started_at),
        (/* end_of_a_trace.sql */) AS ended_at
    FROM connections
    WHERE trace_day IN (SELECT day FROM {connections:Identifier})
        AND connection_id IN (SELECT connection_id FROM {connections:Identifier})
    ORDER BY
        version DESC,
        _block_number DESC
    LIMIT 1 BY connection_id, vantage, trace_id
) AS connections
    ON connections.connection_id = streams.connection_id
    AND connections.vantage = streams.vantage
    AND connections.trace_id = streams.trace_id
WHERE (streams.trace_id, streams.connection_id, streams.analysis_version) IN
(
    SELECT
        trace_id,
        connection_id,
        analysis_version
    FROM {traces:Identifier}
)
ORDER BY
    streams.connection_id,
    streams.stream_id,
    indexOf(['unknown', 'network', 'client', 'server'], streams.vantage) DESC,
    connections.complete DESC,
    streams.complete DESC,
    connections.events_seen DESC,
    streams.trace_id
LIMIT 1 BY streams.connection_id, streams.stream_id
