-- One row: the first and the last moment of the requests that were asked for, in seconds since 1970.
SELECT
    toUnixTimestamp(min(assumeNotNull(started_at))) AS first_s,
    toUnixTimestamp(max(assumeNotNull(started_at))) AS last_s,
    count() AS requests
FROM requests
WHERE started_at IS NOT NULL
    AND started_hour >= toStartOfHour(ifNull({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64(0, 6, 'UTC')))
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_hour <= toStartOfHour(assumeNotNull({until:Nullable(DateTime64(6, 'UTC'))})))
    AND ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {since:Nullable(DateTime64(6, 'UTC'))})
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
/* conditions */
LIMIT 1
