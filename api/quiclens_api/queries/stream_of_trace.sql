-- One row is one stream as one trace saw it.
SELECT
    *
FROM streams_of(connection_id = {connection_id:String})
WHERE trace_id = {trace_id:String}
    AND stream_id = {stream_id:UInt64}
LIMIT 1
