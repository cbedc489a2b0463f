-- One row: quantiles of all measured requests of the window, null where there are too few for one.
SELECT
    countIf(complete AND duration_us IS NOT NULL) AS measured,
    if(measured >= 1, quantileExactIf(0.5)(duration_us, complete), NULL) AS p50,
    if(measured >= 20, quantileExactIf(0.95)(duration_us, complete), NULL) AS p95,
    if(measured >= 100, quantileExactIf(0.99)(duration_us, complete), NULL) AS p99
FROM (/* requests.sql */)
LIMIT 1
