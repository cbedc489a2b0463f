-- One row is one statement of how much may be sent, a limit that the peer granted or that we did, in the log's order.
-- With buckets it is the highest of each limit in each of them. What was stated before the stretch is the highest of each
-- limit at its beginning. A row that stands twice changes nothing.
SELECT
    max(seq) AS seq,
    max(time_us) AS time_us,
    is_ours,
    limit_name,
    stream_id,
    max(maximum) AS maximum
FROM
(
    SELECT
        if(seq < {first_seq:UInt64}, -1, if({bucket_us:Int64} = 0, toInt64(seq), intDiv(time_us, {bucket_us:Int64}))) AS place,
        seq,
        greatest(time_us, {from_us:Int64}) AS time_us,
        toBool(name = 'quic:packet_sent') AS is_ours,
        frames.frame_type AS limit_name,
        frames.stream_id AS stream_id,
        frames.maximum AS maximum
    FROM events
    ARRAY JOIN frames
    WHERE connection_id = {connection_id:String}
        AND vantage = {vantage:String}
        AND trace_id = {trace_id:String}
        AND seq <= {last_seq:UInt64}
        AND events.time_us <= {to_us:Int64}
        AND name IN ('quic:packet_sent', 'quic:packet_received')
        AND frames.frame_type IN ('max_data', 'max_stream_data', 'data_blocked', 'stream_data_blocked')
    UNION ALL
    SELECT
        if(seq < {first_seq:UInt64}, -1, if({bucket_us:Int64} = 0, toInt64(seq), intDiv(time_us, {bucket_us:Int64}))) AS place,
        seq,
        greatest(time_us, {from_us:Int64}) AS time_us,
        toBool(owner != 'remote') AS is_ours,
        parameter.1 AS limit_name,
        0 AS stream_id,
        toUInt64OrZero(trim(BOTH '"' FROM parameter.2)) AS maximum
    FROM events
    ARRAY JOIN CAST(more AS Array(Tuple(String, String))) AS parameter
    WHERE connection_id = {connection_id:String}
        AND vantage = {vantage:String}
        AND trace_id = {trace_id:String}
        AND seq <= {last_seq:UInt64}
        AND events.time_us <= {to_us:Int64}
        AND name IN ('quic:parameters_set', 'quic:parameters_restored')
        AND startsWith(parameter.1, 'initial_max_')
)
GROUP BY
    place,
    is_ours,
    limit_name,
    stream_id
ORDER BY
    seq,
    limit_name,
    stream_id
LIMIT {limit:UInt32}
