-- A condition on episodes, for other questions: of a trace, it overlaps a stream's time, and is the stream's own or the
-- connection's. As in connection_of_trace.sql, whoever asks knows the trace and its analysis_version from a view.
connection_id = {connection_id:String}
AND vantage = {vantage:String}
AND trace_id = {trace_id:String}
AND trace_day = {trace_day:Date}
AND analysis_version = {analysis_version:UInt16}
AND stream_id IN (-1, {stream_id:Int64})
AND start_us <= {end_us:Int64}
AND end_us >= {start_us:Int64}
