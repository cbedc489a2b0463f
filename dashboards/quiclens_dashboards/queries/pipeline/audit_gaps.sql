-- One row is one of the sampled traces that has records which are missing or stand twice.
SELECT
    *,
    count() OVER () AS rows_in_all
FROM (/* pipeline/sampled_traces.sql */)
WHERE missing > 0 OR doubled > 0
ORDER BY
    missing DESC,
    doubled DESC,
    connection_id,
    vantage,
    trace_id
LIMIT 50
