-- One row is one stream as the trace that speaks for it saw it.
SELECT
    s.*
FROM streams_of(connection_id = {connection_id:String}) AS s
LEFT JOIN connections_of(connection_id = {connection_id:String}) AS c
    ON c.connection_id = s.connection_id AND c.vantage = s.vantage AND c.trace_id = s.trace_id
WHERE s.stream_id = {stream_id:UInt64}
ORDER BY (/* speaks_for_stream.sql */)
LIMIT 1
