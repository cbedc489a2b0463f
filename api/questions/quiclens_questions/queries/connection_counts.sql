-- One row is one kind of thing in a trace's log and how often it stands there: events by name, frames by type and
-- direction, packets by type and direction.
SELECT
    kind,
    name,
    way,
    count,
    bytes
FROM
(
    SELECT
        'event' AS kind,
        toString(name) AS name,
        '' AS way,
        count() AS count,
        toUInt64(0) AS bytes
    FROM events_now
    WHERE connection_id = {connection_id:String}
        AND vantage = {vantage:String}
        AND trace_id = {trace_id:String}
    GROUP BY name
    UNION ALL
    SELECT
        'packet' AS kind,
        toString(packet_type) AS name,
        if(events_now.name = 'quic:packet_sent', 'sent', 'received') AS way,
        count() AS count,
        sum(ifNull(packet_bytes, 0)) AS bytes
    FROM events_now
    WHERE connection_id = {connection_id:String}
        AND vantage = {vantage:String}
        AND trace_id = {trace_id:String}
        AND events_now.name IN ('quic:packet_sent', 'quic:packet_received')
    GROUP BY
        name,
        way
    UNION ALL
    SELECT
        'frame' AS kind,
        toString(frame_type) AS name,
        if(events_now.name = 'quic:packet_sent', 'sent', 'received') AS way,
        count() AS count,
        sum(length) AS bytes
    FROM events_now
    ARRAY JOIN
        `frames.frame_type` AS frame_type,
        `frames.length` AS length
    WHERE connection_id = {connection_id:String}
        AND vantage = {vantage:String}
        AND trace_id = {trace_id:String}
        AND events_now.name IN ('quic:packet_sent', 'quic:packet_received')
    GROUP BY
        name,
        way
)
ORDER BY
    kind,
    count DESC,
    name,
    way
LIMIT {limit:UInt32}
