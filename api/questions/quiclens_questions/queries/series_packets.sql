-- One row is one packet that was sent or received, in the log's order; acknowledged numbers as pairs [from, to].
SELECT
    seq,
    time_us,
    toBool(name = 'quic:packet_sent') AS is_sent,
    packet_type,
    packet_number,
    ifNull(packet_bytes, 0) AS bytes,
    arrayZip(`acked.from`, `acked.to`) AS acked
FROM events_now
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND seq BETWEEN {first_seq:UInt64} AND {last_seq:UInt64}
    AND time_us BETWEEN {from_us:Int64} AND {to_us:Int64}
    AND name IN ('quic:packet_sent', 'quic:packet_received')
ORDER BY seq
LIMIT {limit:UInt32}
SETTINGS optimize_move_to_prewhere_if_final = 1
