-- One row is one episode of a trace that overlaps a stream's time: the stream's own and the connection's. As in
-- connection_of_trace.sql, whoever asks knows the trace and its analysis_version from a view.
SELECT
    /* columns of Episode */
FROM episodes
FINAL
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND trace_day = {trace_day:Date}
    AND analysis_version = {analysis_version:UInt16}
    AND stream_id IN (-1, {stream_id:Int64})
    AND start_us <= {end_us:Int64}
    AND end_us >= {start_us:Int64}
ORDER BY
    start_us,
    kind,
    path_id,
    stream_id,
    first_seq
LIMIT {limit:UInt32}
