-- One row is one carrier, region and city with enough requests for a p95, the slowest first.
SELECT
    carrier,
    region,
    city,
    requests,
    traced,
    measured,
    cuts[1] AS p50,
    cuts[2] AS p95,
    if(measured >= 100, cuts[3], NULL) AS p99,
    count() OVER () AS rows_in_all
FROM
(
    SELECT
        carrier,
        region,
        city,
        count() AS requests,
        countIf(coverage != 'none') AS traced,
        countIf(is_measured) AS measured,
        quantilesExactWeightedIf(0.5, 0.95, 0.99)(duration_us, millionths, is_measured) AS cuts
    FROM (/* requests.sql */)
    GROUP BY
        carrier,
        region,
        city
    HAVING measured >= 20
)
ORDER BY
    p95 DESC,
    carrier,
    region,
    city
LIMIT 50
