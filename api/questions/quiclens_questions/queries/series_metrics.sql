-- One row is one event that states what the sender knows of its path, in the log's order; null where it does not say.
SELECT
    seq,
    time_us,
    congestion_window,
    bytes_in_flight,
    ssthresh,
    pacing_rate,
    latest_rtt_us,
    smoothed_rtt_us,
    min_rtt_us,
    rtt_variance_us
FROM events_now
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND seq BETWEEN {first_seq:UInt64} AND {last_seq:UInt64}
    AND time_us BETWEEN {from_us:Int64} AND {to_us:Int64}
    AND coalesce(congestion_window, bytes_in_flight, ssthresh, pacing_rate, latest_rtt_us, smoothed_rtt_us, min_rtt_us) IS NOT NULL
ORDER BY seq
LIMIT {limit:UInt32}
SETTINGS optimize_move_to_prewhere_if_final = 1
