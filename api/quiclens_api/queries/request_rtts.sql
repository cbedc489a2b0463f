-- One row is one sample: the smoothed round trip when a request ended, as its trace told it or as its server logged it.
SELECT
    CAST([/* by */] AS Array(Nullable(String))) AS key,
    coalesce(user_hash, connection_id, request_id) AS draw,
    assumeNotNull(rtt_us) AS value
FROM requests
WHERE rtt_us IS NOT NULL
    AND started_hour >= toStartOfHour(ifNull({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64(0, 6, 'UTC')))
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_hour <= toStartOfHour(assumeNotNull({until:Nullable(DateTime64(6, 'UTC'))})))
    AND ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {since:Nullable(DateTime64(6, 'UTC'))})
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
/* conditions */
LIMIT 1000000000000
