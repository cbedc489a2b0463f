-- A condition on events, for other questions: one of its frames speaks of a stream.
arrayExists(
    (frame_type, frame_stream_id) -> frame_stream_id = assumeNotNull({stream_id:Nullable(UInt64)})
        AND frame_type IN ('stream', 'reset_stream', 'stop_sending', 'max_stream_data', 'stream_data_blocked'),
    `frames.frame_type`,
    `frames.stream_id`
)
