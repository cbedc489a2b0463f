-- One row is one group: how unevenly the samples at or below each bound fall on its connections
-- (a = those of one connection, n = all of one connection). Samples of one connection are alike, so a sample is no draw.
SELECT
    by_key,
    sumForEach(arrayMap(a -> a * a, below)) AS sum_aa,
    sumForEach(arrayMap(a -> a * n, below)) AS sum_an,
    sum(n * n) AS sum_nn
FROM
(
    SELECT
        toString(CAST([/* by */] AS Array(Nullable(String)))) AS by_key,
        {bounds:Array(Array(UInt16))}[indexOf({keys:Array(String)}, by_key)] AS limits,
        toFloat64(arraySum(mapValues(rtt_histogram))) AS n,
        arrayMap(
            bound -> toFloat64(arraySum(arrayMap((bucket, samples) -> if(bucket <= bound, samples, 0), mapKeys(rtt_histogram), mapValues(rtt_histogram)))),
            limits
        ) AS below
    FROM (/* chosen_connections.sql */)
    WHERE notEmpty(rtt_histogram)
)
WHERE notEmpty(below)
GROUP BY by_key
LIMIT {limit:UInt32}
