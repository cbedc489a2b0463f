-- One row is one connection with two round trips or more: their standard deviation, to take the mean of.
SELECT
    CAST([/* by */] AS Array(Nullable(String))) AS key,
    sample_cluster,
    connection_weight AS weight,
    1 AS number,
    rtt_stdev_us AS hits
FROM (/* chosen_connections.sql */)
WHERE rtt_samples > 1 AND rtt_stdev_us IS NOT NULL
