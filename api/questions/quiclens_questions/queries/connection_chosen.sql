-- Used where a connection is named and its trace is not. One row is one connection as
-- the trace that speaks for it saw it: server before client before network, complete
-- before cut, most events, then the smallest trace_id. An empty vantage or trace_id leaves the choice open.
SELECT
    *
FROM connections_of(connection_id = {connection_id:String})
WHERE ({vantage:String} = '' OR vantage = {vantage:String})
    AND ({trace_id:String} = '' OR trace_id = {trace_id:String})
ORDER BY
    transform(vantage, ['server', 'client', 'network'], [0, 1, 2], 3),
    complete DESC,
    events_seen DESC,
    trace_id
LIMIT 1
