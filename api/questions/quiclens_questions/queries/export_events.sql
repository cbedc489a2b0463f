-- One row is one event of a trace with all its columns, in the log's order, one page of them.
SELECT
    *
FROM events_now
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND seq >= {first_seq:UInt64}
    AND seq < {next_seq:UInt64}
ORDER BY seq
LIMIT {limit:UInt32}
