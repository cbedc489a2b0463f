-- One row is one bucket of a trace's time: the least, the greatest and the last value of each thing that the sender said
-- of its path in it. A line through them has the extremes of the line through all.
-- A row that stands twice changes none of them.
SELECT
    {from_us:Int64} + {bucket_us:Int64} * intDiv(time_us - {from_us:Int64}, {bucket_us:Int64}) AS bucket_start_us,
    [min(congestion_window), max(congestion_window), argMax(congestion_window, seq)] AS congestion_window,
    [min(bytes_in_flight), max(bytes_in_flight), argMax(bytes_in_flight, seq)] AS bytes_in_flight,
    [min(ssthresh), max(ssthresh), argMax(ssthresh, seq)] AS ssthresh,
    [min(pacing_rate), max(pacing_rate), argMax(pacing_rate, seq)] AS pacing_rate,
    [min(latest_rtt_us), max(latest_rtt_us), argMax(latest_rtt_us, seq)] AS latest_rtt_us,
    [min(smoothed_rtt_us), max(smoothed_rtt_us), argMax(smoothed_rtt_us, seq)] AS smoothed_rtt_us,
    [min(min_rtt_us), max(min_rtt_us), argMax(min_rtt_us, seq)] AS min_rtt_us
FROM
(
    SELECT *
    FROM events
    WHERE connection_id = {connection_id:String}
        AND vantage = {vantage:String}
        AND trace_id = {trace_id:String}
        AND seq BETWEEN {first_seq:UInt64} AND {last_seq:UInt64}
        AND time_us BETWEEN {from_us:Int64} AND {to_us:Int64}
        AND coalesce(congestion_window, bytes_in_flight, ssthresh, pacing_rate, latest_rtt_us, smoothed_rtt_us, min_rtt_us) IS NOT NULL
)
GROUP BY bucket_start_us
ORDER BY bucket_start_us
LIMIT {limit:UInt32}
