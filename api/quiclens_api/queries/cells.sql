-- One row is one hexagon with its requests: how many, their median and p95 (null where too few were measured), and the
-- cause that took most of their time.
SELECT
    h3_cell,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf(complete AND duration_us IS NOT NULL) AS measured,
    if(measured >= 4, quantileExactIf(0.5)(duration_us, complete), NULL) AS p50,
    if(measured >= 20, quantileExactIf(0.95)(duration_us, complete), NULL) AS p95,
    arrayMap(us -> toUInt64(us), sumForEachIf([/* causes */], coverage != 'none')) AS cause_us
FROM requests
WHERE h3_cell IS NOT NULL
    AND started_hour >= toStartOfHour(ifNull({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64(0, 6, 'UTC')))
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_hour <= toStartOfHour(assumeNotNull({until:Nullable(DateTime64(6, 'UTC'))})))
    AND ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {since:Nullable(DateTime64(6, 'UTC'))})
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
/* conditions */
GROUP BY h3_cell
ORDER BY
    requests DESC,
    h3_cell
LIMIT {limit:UInt32}
