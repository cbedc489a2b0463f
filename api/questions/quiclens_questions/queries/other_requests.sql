-- One row: how many other requests of a trace were under way while a stream was. A stream's rows of lower versions only
-- end earlier.
SELECT uniqExact(stream_id) AS requests
FROM streams
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND trace_day = {trace_day:Date}
    AND analysis_version = {analysis_version:UInt16}
    AND stream_id != {stream_id:UInt64}
    AND start_us < {end_us:Int64}
    AND end_us > {start_us:Int64}
LIMIT 1
