-- The only row says how much of a trace lies in a stretch of its time, and where that begins and ends: in time, and in
-- the log, by whose order the other questions find it; and how many bytes of packets were sent before it.
SELECT
    countIf(time_us >= {from_us:Int64}) AS events,
    countIf(time_us >= {from_us:Int64} AND name = 'quic:packet_lost') AS losses,
    minIf(seq, time_us >= {from_us:Int64}) AS first_seq,
    maxIf(seq, time_us >= {from_us:Int64}) AS last_seq,
    minIf(time_us, time_us >= {from_us:Int64}) AS first_us,
    maxIf(time_us, time_us >= {from_us:Int64}) AS last_us,
    ifNull(sumIf(packet_bytes, time_us < {from_us:Int64} AND name = 'quic:packet_sent'), 0) AS bytes_sent_before
FROM events_now
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND time_us <= {to_us:Int64}
