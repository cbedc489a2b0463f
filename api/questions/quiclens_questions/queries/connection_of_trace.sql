-- One row is one connection as one trace saw it. Whoever asks has one of its rows from a view: the trace is this
-- connection's, and all of it lies in the parts of its day. A view of all these columns would take longer to analyse
-- than to read.
SELECT
    *
FROM connections
FINAL
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND trace_day = {trace_day:Date}
LIMIT 1
