-- One row is one bucket of a trace's time with packets in it: how many, how large, and the last number of each way.
SELECT
    {from_us:Int64} + {bucket_us:Int64} * intDiv(time_us - {from_us:Int64}, {bucket_us:Int64}) AS bucket_start_us,
    countIf(name = 'quic:packet_sent') AS packets_sent,
    sumIf(ifNull(packet_bytes, 0), name = 'quic:packet_sent') AS bytes_sent,
    countIf(name = 'quic:packet_received') AS packets_received,
    sumIf(ifNull(packet_bytes, 0), name = 'quic:packet_received') AS bytes_received,
    maxIf(packet_number, name = 'quic:packet_sent' AND packet_type = '1RTT') AS last_sent,
    maxIf(arrayMax(`acked.to`), name = 'quic:packet_received' AND packet_type = '1RTT' AND notEmpty(`acked.to`)) AS last_acked
FROM events_now
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND seq BETWEEN {first_seq:UInt64} AND {last_seq:UInt64}
    AND time_us BETWEEN {from_us:Int64} AND {to_us:Int64}
    AND name IN ('quic:packet_sent', 'quic:packet_received')
GROUP BY bucket_start_us
ORDER BY bucket_start_us
LIMIT {limit:UInt32}
SETTINGS optimize_move_to_prewhere_if_final = 1
