-- One row: quantiles of all measured requests of the window, null where there are too few for one.
SELECT
    measured,
    if(measured >= 1, cuts[1], NULL) AS p50,
    if(measured >= 20, cuts[2], NULL) AS p95,
    if(measured >= 100, cuts[3], NULL) AS p99
FROM
(
    SELECT
        count() AS measured,
        quantilesExactWeighted(0.5, 0.95, 0.99)(assumeNotNull(duration_us), millionths) AS cuts
    FROM (/* requests.sql */)
    WHERE is_measured
)
LIMIT 1
