-- One row is one hexagon and carrier with its requests, p50 null below 4 and p95 below 20 measured. Written into others.
SELECT
    assumeNotNull(r.h3_cell) AS h3_cell,
    ifNull(toString(r.carrier), 'unknown') AS carrier,
    any(r.city) AS city,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf(is_measured) AS measured,
    if(measured >= 4, quantileExactWeightedIf(0.5)(duration_us, millionths, is_measured), NULL) AS p50,
    if(measured >= 20, quantileExactWeightedIf(0.95)(duration_us, millionths, is_measured), NULL) AS p95
FROM (/* requests.sql */) AS r
WHERE r.h3_cell IS NOT NULL
GROUP BY
    h3_cell,
    carrier
