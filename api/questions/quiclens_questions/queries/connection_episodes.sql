-- One row is one episode of a trace that touches a stretch of its time, of one of the given kinds (none: all).
SELECT
    /* columns of Episode */
FROM episodes_of(connection_id = {connection_id:String})
WHERE vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND start_us <= {to_us:Int64}
    AND end_us >= {from_us:Int64}
    AND (empty({kinds:Array(String)}) OR kind IN {kinds:Array(String)})
ORDER BY
    start_us,
    kind,
    path_id,
    stream_id,
    first_seq
LIMIT {limit:UInt32}
