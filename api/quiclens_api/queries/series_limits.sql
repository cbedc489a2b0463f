-- One row is one statement of how much may be sent: a limit that the peer granted, or that we did.
SELECT
    seq,
    time_us,
    is_ours,
    limit_name,
    stream_id,
    maximum
FROM
(
    SELECT
        seq,
        time_us,
        name = 'quic:packet_sent' AS is_ours,
        frames.frame_type AS limit_name,
        frames.stream_id AS stream_id,
        frames.maximum AS maximum
    FROM events_now
    ARRAY JOIN frames
    WHERE connection_id = {connection_id:String}
        AND vantage = {vantage:String}
        AND trace_id = {trace_id:String}
        AND time_us BETWEEN {from_us:Int64} AND {to_us:Int64}
        AND frames.frame_type IN ('max_data', 'max_stream_data', 'data_blocked', 'stream_data_blocked')
    UNION ALL
    SELECT
        seq,
        time_us,
        owner != 'remote' AS is_ours,
        parameter.1 AS limit_name,
        0 AS stream_id,
        toUInt64OrZero(trim(BOTH '"' FROM parameter.2)) AS maximum
    FROM events_now
    ARRAY JOIN CAST(more AS Array(Tuple(String, String))) AS parameter
    WHERE connection_id = {connection_id:String}
        AND vantage = {vantage:String}
        AND trace_id = {trace_id:String}
        AND time_us BETWEEN {from_us:Int64} AND {to_us:Int64}
        AND name IN ('quic:parameters_set', 'quic:parameters_restored')
        AND startsWith(parameter.1, 'initial_max_')
)
ORDER BY
    seq,
    limit_name,
    stream_id
LIMIT {limit:UInt32}
