-- One row is one stream as the trace that speaks for it saw it: server before client before network, a complete
-- trace before a cut one, one that saw the request end, most events, then the smallest trace_id: as link chooses.
SELECT
    s.*
FROM streams_of(connection_id = {connection_id:String}) AS s
LEFT JOIN connections_of(connection_id = {connection_id:String}) AS c
    ON c.connection_id = s.connection_id AND c.vantage = s.vantage AND c.trace_id = s.trace_id
WHERE s.stream_id = {stream_id:UInt64}
ORDER BY
    transform(s.vantage, ['server', 'client', 'network'], [0, 1, 2], 3),
    c.complete DESC,
    s.complete DESC,
    c.events_seen DESC,
    s.trace_id
LIMIT 1
