-- One row is one group: RTT samples of its connections by bucket of 2 %.
SELECT
    CAST([/* by */] AS Array(Nullable(String))) AS by_values,
    toString(by_values) AS by_key,
    count() AS connections,
    sumMap(rtt_histogram) AS histogram
FROM (/* chosen_connections.sql */)
WHERE notEmpty(rtt_histogram)
GROUP BY by_values
ORDER BY
    sum(arraySum(mapValues(rtt_histogram))) DESC,
    by_key
LIMIT {limit:UInt32}
