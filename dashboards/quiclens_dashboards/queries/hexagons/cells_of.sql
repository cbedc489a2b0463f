-- One row is one hexagon and carrier with its requests, p50 null below 4 and p95 below 20 measured. Written into others.
SELECT
    assumeNotNull(r.h3_cell) AS h3_cell,
    ifNull(toString(r.carrier), 'unknown') AS carrier,
    any(r.city) AS city,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf(complete AND duration_us IS NOT NULL) AS measured,
    if(measured >= 4, quantileExactIf(0.5)(duration_us, complete), NULL) AS p50,
    if(measured >= 20, quantileExactIf(0.95)(duration_us, complete), NULL) AS p95
FROM (/* requests.sql */) AS r
WHERE r.h3_cell IS NOT NULL
GROUP BY
    h3_cell,
    carrier
