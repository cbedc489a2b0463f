-- One row is one hexagon with its requests: how many, their median and p95 (null where too few were measured), and the
-- cause that took most of their time.
SELECT
    h3_cell,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf((/* ingest/measured_request.sql */)) AS measured,
    if(measured >= 4, quantileExactWeightedIf(0.5)(duration_us, toUInt64(round(weight * 1000000)), (/* ingest/measured_request.sql */)), NULL) AS p50,
    if(measured >= 20, quantileExactWeightedIf(0.95)(duration_us, toUInt64(round(weight * 1000000)), (/* ingest/measured_request.sql */)), NULL) AS p95,
    arrayMap(us -> toUInt64(round(us)), sumForEach(arrayMap(us -> us * trace_weight, [/* causes */]))) AS cause_us
FROM requests
WHERE h3_cell IS NOT NULL
    AND (/* in_window.sql */)
/* conditions */
GROUP BY h3_cell
ORDER BY
    requests DESC,
    h3_cell
LIMIT {limit:UInt32}
