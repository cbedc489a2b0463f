-- One row is one request that has this external id: those with a trace first, which can be explained, the slowest of them first.
SELECT
    /* columns of ExplainedRequest */
FROM requests
WHERE (started_hour, request_id) IN (
    SELECT
        started_hour,
        request_id
    FROM requests
    WHERE external_id = {name:String}
)
ORDER BY
    coverage = 'none',
    duration_us DESC NULLS LAST,
    request_id
LIMIT {limit:UInt32}
SETTINGS use_skip_indexes_on_data_read = 0
