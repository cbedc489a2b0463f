-- One row is one stream as one trace saw it, by its newest version: of all traces that have this stream of this
-- connection. Whoever asks knows the trace from `requests`, which link made of the trace that counts.
SELECT
    *
FROM streams
WHERE connection_id = {connection_id:String}
    AND stream_id = {stream_id:UInt64}
ORDER BY version DESC
LIMIT 1 BY
    vantage,
    trace_id
LIMIT {limit:UInt32}
SETTINGS use_skip_indexes_on_data_read = 0
