-- One row is one trace of a connection: the server's before the client's before the network's, complete before cut, most
-- events, then the smallest trace_id, so that the first speaks for the connection.
SELECT
    *
FROM connections_of(connection_id = {connection_id:String})
ORDER BY
    transform(vantage, ['server', 'client', 'network'], [0, 1, 2], 3),
    complete DESC,
    events_seen DESC,
    trace_id
LIMIT {limit:UInt32}
