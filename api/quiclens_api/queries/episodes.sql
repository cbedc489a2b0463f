-- One row is one episode of a trace that overlaps a stream's time: the stream's own and the connection's.
SELECT
    kind,
    stream_id,
    path_id,
    start_us,
    end_us,
    first_seq,
    last_seq,
    confirmed,
    trigger,
    packet_number,
    bytes,
    count,
    detection_us,
    wait_us,
    congestion_window
FROM episodes_of(connection_id = {connection_id:String})
WHERE vantage = {vantage:String}
    AND trace_id = {trace_id:String}
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
