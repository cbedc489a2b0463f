-- One row is one stream as one trace saw it, by its newest version. Whoever asks has the trace from `requests`, which link
-- made of the trace that counts.
SELECT
    *
FROM streams
WHERE connection_id = {connection_id:String}
    AND vantage = {vantage:String}
    AND trace_id = {trace_id:String}
    AND stream_id = {stream_id:UInt64}
ORDER BY version DESC
LIMIT 1
