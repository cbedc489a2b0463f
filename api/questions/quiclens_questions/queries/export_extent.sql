-- One row: how far the sequence numbers of a trace go, and how many of its events lie in a stretch of time.
SELECT
    ifNull(min(seq), 0) AS first_seq,
    ifNull(max(seq) + 1, 0) AS next_seq,
    countIf(time_us >= {from_us:Int64} AND time_us <= {to_us:Int64}) AS events
FROM events_now
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
LIMIT 1
