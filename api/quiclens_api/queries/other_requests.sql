-- One row: how many other requests of a trace were under way while a stream was.
SELECT count() AS requests
FROM streams_of(connection_id = {connection_id:String})
WHERE vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND stream_id != {stream_id:UInt64}
    AND start_us < {end_us:Int64}
    AND end_us > {start_us:Int64}
LIMIT 1
