-- One row is one stream frame of a packet, in the log's order: whose bytes these are, and whether they were sent before (below
-- the highest offset that went out earlier).
SELECT
    seq,
    time_us,
    is_sent,
    frame_type,
    frame_stream_id AS stream_id,
    frame_offset AS offset,
    frame_length AS length,
    toBool(frame_fin) AS fin,
    toBool(
        frame_length > 0 AND frame_offset < max(frame_offset + frame_length) OVER
        (
            PARTITION BY is_sent, frame_stream_id
            ORDER BY seq, place
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        )
    ) AS is_again
FROM
(
    SELECT
        seq,
        time_us,
        toBool(name = 'quic:packet_sent') AS is_sent,
        frames.frame_type AS frame_type,
        frames.stream_id AS frame_stream_id,
        frames.offset AS frame_offset,
        frames.length AS frame_length,
        frames.fin AS frame_fin,
        place
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
ORDER BY
    seq,
    place
LIMIT {limit:UInt32}
SETTINGS optimize_move_to_prewhere_if_final = 1
