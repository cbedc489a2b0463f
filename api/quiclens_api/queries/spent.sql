-- One row: the requests of a group, how many are traced, and what all of their time was spent on, in us by cause.
SELECT
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    arrayMap(us -> toUInt64(us), sumForEachIf([/* causes */], coverage != 'none')) AS cause_us
FROM requests
WHERE started_hour >= toStartOfHour(ifNull({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64(0, 6, 'UTC')))
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_hour <= toStartOfHour(assumeNotNull({until:Nullable(DateTime64(6, 'UTC'))})))
    AND ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {since:Nullable(DateTime64(6, 'UTC'))})
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
/* conditions */
LIMIT 1
