-- One row is one carrier, region and city with enough requests for a p95, the slowest first.
SELECT
    carrier,
    region,
    city,
    count() AS requests,
    countIf(complete AND duration_us IS NOT NULL) AS measured,
    quantileExactIf(0.5)(duration_us, complete) AS p50,
    quantileExactIf(0.95)(duration_us, complete) AS p95,
    if(measured >= 100, quantileExactIf(0.99)(duration_us, complete), NULL) AS p99,
    countIf(coverage != 'none') AS traced
FROM (/* requests.sql */)
GROUP BY
    carrier,
    region,
    city
HAVING measured >= 20
ORDER BY
    p95 DESC,
    carrier,
    region,
    city
LIMIT 50
