-- One row is one stream in one bucket of a trace's time: bytes that went each way, and those sent again.
SELECT
    {from_us:Int64} + {bucket_us:Int64} * intDiv(time_us - {from_us:Int64}, {bucket_us:Int64}) AS bucket_start_us,
    stream_id,
    sumIf(length, is_sent) AS bytes_sent,
    sumIf(length, NOT is_sent) AS bytes_received,
    sumIf(length, is_again) AS bytes_again
FROM
(
    SELECT
        seq,
        time_us,
        name = 'quic:packet_sent' AS is_sent,
        frames.stream_id AS stream_id,
        frames.length AS length,
        frames.length > 0 AND frames.offset < max(frames.offset + frames.length) OVER
        (
            PARTITION BY name, frames.stream_id
            ORDER BY seq, place
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS is_again
    FROM events_now
    ARRAY JOIN
        frames,
        arrayEnumerate(frames.frame_type) AS place
    WHERE connection_id = {connection_id:String}
        AND vantage = {vantage:String}
        AND trace_id = {trace_id:String}
        AND seq <= {last_seq:UInt64}
        AND time_us <= {to_us:Int64}
        AND name IN ('quic:packet_sent', 'quic:packet_received')
        AND frames.frame_type = 'stream'
)
WHERE seq >= {first_seq:UInt64}
    AND time_us >= {from_us:Int64}
GROUP BY
    bucket_start_us,
    stream_id
ORDER BY
    bucket_start_us,
    stream_id
LIMIT {limit:UInt32}
SETTINGS optimize_move_to_prewhere_if_final = 1
