-- One row is one request of the population, and whether it is one of those that are asked about. Written into others.
SELECT
    *,
    duration_us >= {chosen_from_us:UInt64}
        AND duration_us < {chosen_to_us:UInt64}
        AND ({chosen_since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {chosen_since:Nullable(DateTime64(6, 'UTC'))})
        AND ({chosen_until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at < {chosen_until:Nullable(DateTime64(6, 'UTC'))}) AS is_chosen
FROM requests
WHERE complete
    AND duration_us IS NOT NULL
    AND started_hour >= toStartOfHour(ifNull({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64(0, 6, 'UTC')))
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_hour <= toStartOfHour(assumeNotNull({until:Nullable(DateTime64(6, 'UTC'))})))
    AND ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {since:Nullable(DateTime64(6, 'UTC'))})
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
/* conditions */
