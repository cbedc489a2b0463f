-- One row is one packet that a trace says was sent, of those with these numbers: what was in it.
SELECT
    packet_type,
    path_id,
    packet_number,
    `frames.frame_type` AS frame_types,
    `frames.stream_id` AS frame_stream_ids,
    `frames.offset` AS frame_offsets,
    `frames.length` AS frame_lengths,
    `frames.fin` AS frame_fins
FROM events
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND name = 'quic:packet_sent'
    AND packet_number IN {numbers:Array(UInt64)}
    AND notEmpty(frame_types)
ORDER BY
    packet_number,
    seq
LIMIT 1 BY
    packet_number,
    path_id,
    packet_type
LIMIT {limit:UInt32}
