-- One row is one event that speaks of a stream, or a loss, probe or change of state while it lasted. Where there are
-- more than the limit, those nearest the stream's first and last moment are kept, rare ones before packets; each row says
-- how many there are. Rows that stand twice are alike: one of each seq is taken.
SELECT
    *
FROM
(
    SELECT
        /* columns of EventColumns */,
        `frames.frame_type` AS frame_types,
        `frames.stream_id` AS frame_stream_ids,
        `frames.offset` AS frame_offsets,
        `frames.length` AS frame_lengths,
        `frames.fin` AS frame_fins,
        uniqExact(seq) OVER () AS events_all
    FROM events
    WHERE connection_id = {connection_id:String}
        AND vantage = {vantage:String}
        AND trace_id = {trace_id:String}
        AND trace_day = {trace_day:Date}
        AND time_us BETWEEN {start_us:Int64} AND {end_us:Int64}
        AND
        (
            stream_id = {stream_id:UInt64}
            OR (/* has_frame_of_stream.sql */)
            OR name IN {rare:Array(String)}
            OR pto_count > 0
            OR event_type = 'expired'
        )
    ORDER BY
        name NOT IN {rare:Array(String)},
        least(abs(time_us - {start_us:Int64}), abs(time_us - {end_us:Int64})),
        seq
    LIMIT 1 BY seq
    LIMIT {limit:UInt32}
)
ORDER BY seq
LIMIT {limit:UInt32}
