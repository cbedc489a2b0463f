-- One row is one event of a trace after a given seq, in the log's order, that fits what was asked for: names (none: all),
-- a way (none: all), a stream, a packet number, and text that is its name, or must stand in its name, states, trigger or
-- leftover fields, where a space is as good as an underscore. What a packet carried is in the event of its sending, so a
-- loss is of the streams that stand there.
SELECT
    /* columns of EventColumns */,
    `frames.frame_type` AS frame_types,
    `frames.stream_id` AS frame_stream_ids,
    `frames.offset` AS frame_offsets,
    `frames.length` AS frame_lengths,
    `frames.fin` AS frame_fins,
    arrayZip(`acked.from`, `acked.to`) AS acked,
    more
FROM events_now
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND seq >= {first_seq:UInt64}
    AND time_us BETWEEN {from_us:Int64} AND {to_us:Int64}
    AND
    (
        empty({names:Array(String)})
        OR name IN {names:Array(String)}
        OR lowerUTF8(substring(name, position(name, ':') + 1)) IN {short_names:Array(String)}
    )
    AND (empty({of_way:Array(String)}) OR name IN {of_way:Array(String)})
    AND
    (
        {stream_id:Nullable(UInt64)} IS NULL
        OR stream_id = {stream_id:Nullable(UInt64)}
        OR (/* has_frame_of_stream.sql */)
        OR (name IN {lost:Array(String)} AND packet_type NOT IN ('initial', 'handshake') AND (ifNull(path_id, 0), packet_number) IN
        (
            SELECT
                ifNull(path_id, 0),
                packet_number
            FROM events
            WHERE connection_id = {connection_id:String}
                AND vantage = {vantage:String}
                AND trace_id = {trace_id:String}
                AND {stream_id:Nullable(UInt64)} IS NOT NULL
                AND name = 'quic:packet_sent'
                AND packet_type NOT IN ('initial', 'handshake')
                AND (/* has_frame_of_stream.sql */)
        ))
    )
    AND ({packet_number:Nullable(UInt64)} IS NULL OR packet_number = {packet_number:Nullable(UInt64)})
    AND
    (
        {text:String} = ''
        OR name IN {names_of_text:Array(String)}
        OR lowerUTF8(substring(name, position(name, ':') + 1)) IN {short_names_of_text:Array(String)}
        OR position(replaceAll(lowerUTF8(concat(name, ' ', packet_type, ' ', trigger, ' ', new_state, ' ', old_state, ' ', timer_type, ' ', owner, ' ', http_frame_type)), '_', ' '), lowerUTF8({text:String})) > 0
        OR arrayExists(type -> position(replaceAll(lowerUTF8(type), '_', ' '), lowerUTF8({text:String})) > 0, `frames.frame_type`)
        OR arrayExists(value -> position(replaceAll(lowerUTF8(value), '_', ' '), lowerUTF8({text:String})) > 0, mapValues(more))
    )
ORDER BY seq
LIMIT {limit:UInt32}
