-- One row: how many requests an answer speaks of, how many of them have a trace, of how many of those records are
-- missing (by grade), and their weight.
SELECT
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf(grade = 'repaired') AS repaired,
    countIf(grade = 'damaged') AS damaged,
    round(sum(weight), 6) AS weight
FROM
(
    SELECT
        coverage,
        grade,
        weight
    FROM requests
    WHERE ifNull(duration_us, 0) >= {min_us:UInt64}
        AND started_hour >= toStartOfHour(ifNull({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64(0, 6, 'UTC')))
        AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_hour <= toStartOfHour(assumeNotNull({until:Nullable(DateTime64(6, 'UTC'))})))
        AND ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {since:Nullable(DateTime64(6, 'UTC'))})
        AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
    /* conditions */
    LIMIT 1000000000000
)
LIMIT 1
