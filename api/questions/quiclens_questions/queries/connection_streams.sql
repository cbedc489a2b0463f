-- One row is one request stream of a trace, by its start.
SELECT
    *
FROM streams_of(connection_id = {connection_id:String})
WHERE vantage = {vantage:String}
    AND trace_id = {trace_id:String}
ORDER BY
    start_us,
    stream_id
LIMIT {limit:UInt32}
