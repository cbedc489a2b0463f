-- One row is one episode of a trace that overlaps a stream's time: the stream's own and the connection's.
SELECT
    /* columns of Episode */
FROM episodes
FINAL
WHERE (/* episode_of_stream.sql */)
ORDER BY
    start_us,
    kind,
    path_id,
    stream_id,
    first_seq
LIMIT {limit:UInt32}
