-- One row is one stretch of time: quantiles of the requests that began in it, null where too few were measured.
SELECT
    time,
    measured,
    if(measured >= 1, cuts[1], NULL) AS p50,
    if(measured >= 4, cuts[2], NULL) AS p75,
    if(measured >= 10, cuts[3], NULL) AS p90,
    if(measured >= 20, cuts[4], NULL) AS p95,
    if(measured >= 100, cuts[5], NULL) AS p99
FROM
(
    SELECT
        $__timeInterval(assumeNotNull(started_at)) AS time,
        count() AS measured,
        quantilesExactWeighted(0.5, 0.75, 0.9, 0.95, 0.99)(assumeNotNull(duration_us), millionths) AS cuts
    FROM (/* requests.sql */)
    WHERE is_measured
    GROUP BY time
)
ORDER BY time
