-- The only row says how much of a trace lies in a stretch of its time, and where that begins and ends: in time, and in
-- the log, by whose order the other questions find it.
SELECT
    count() AS events,
    countIf(name = 'quic:packet_lost') AS losses,
    min(seq) AS first_seq,
    max(seq) AS last_seq,
    min(time_us) AS first_us,
    max(time_us) AS last_us
FROM events_now
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND time_us BETWEEN {from_us:Int64} AND {to_us:Int64}
