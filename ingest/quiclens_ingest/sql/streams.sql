-- One row is one stream that begins in one of the hours or that a line may mean, as its best trace saw it: the server's
-- before the client's before the network's, a complete trace before a cut one, one that saw the
-- request end, most events, then the smallest trace_id: as `explain` chooses for a stream without a row of `requests`.
INSERT INTO {streams:Identifier}
SELECT
    streams.*,
    connections.started_at AS connection_started_at,
    connections.duration_us AS connection_duration_us,
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
    connections.device
FROM streams_now AS streams
INNER JOIN connections_now AS connections
    ON connections.connection_id = streams.connection_id
    AND connections.vantage = streams.vantage
    AND connections.trace_id = streams.trace_id
WHERE streams.connection_id IN
(
    SELECT connection_id
    FROM streams
    WHERE ifNull(toStartOfHour(started_at), toDateTime(0, 'UTC')) IN {hours:Array(DateTime('UTC'))}
    UNION ALL
    SELECT assumeNotNull(connection_id)
    FROM {lines:Identifier}
    WHERE connection_id IS NOT NULL
    UNION ALL
    SELECT connection_id
    FROM connection_aliases
    WHERE alias IN
    (
        SELECT connection_id
        FROM {lines:Identifier}
        UNION ALL
        SELECT client_key
        FROM {lines:Identifier}
    )
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
