-- One row is one value of the dimension: RTT samples of its connections by bucket of 2 %.
SELECT
    toString({by:Identifier}) AS by_value,
    count() AS connections,
    sumMap(rtt_histogram) AS histogram
FROM (/* chosen_connections.sql */)
WHERE notEmpty(rtt_histogram)
GROUP BY by_value
ORDER BY
    sum(arraySum(mapValues(rtt_histogram))) DESC,
    by_value
LIMIT {limit:UInt32}
