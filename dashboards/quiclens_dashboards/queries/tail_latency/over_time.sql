-- One row is one stretch of time: quantiles of the requests that began in it, null where too few were measured.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    countIf(complete AND duration_us IS NOT NULL) AS measured,
    if(measured >= 1, quantileExactIf(0.5)(duration_us, complete), NULL) AS p50,
    if(measured >= 4, quantileExactIf(0.75)(duration_us, complete), NULL) AS p75,
    if(measured >= 10, quantileExactIf(0.9)(duration_us, complete), NULL) AS p90,
    if(measured >= 20, quantileExactIf(0.95)(duration_us, complete), NULL) AS p95,
    if(measured >= 100, quantileExactIf(0.99)(duration_us, complete), NULL) AS p99
FROM (/* requests.sql */)
GROUP BY time
ORDER BY time
LIMIT 10000
