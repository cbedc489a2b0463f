-- One row is one group and size of response: requests and bytes, the most within one second, and the sum of squares of
-- each minute's number. The extent is that of all that was asked for.
SELECT
    by_values,
    size_class,
    sum(n) AS number,
    sum(bytes) AS response_bytes,
    max(most) AS peak,
    sum(n * n) AS sum_nn
FROM
(
    SELECT
        by_values,
        size_class,
        toStartOfMinute(second) AS minute,
        toFloat64(sum(of_second)) AS n,
        sum(bytes_of_second) AS bytes,
        max(of_second) AS most
    FROM
    (
        SELECT
            CAST([/* by */] AS Array(Nullable(String))) AS by_values,
            if(response_bytes IS NULL, -1, arrayFirstIndex(bound -> response_bytes <= bound, {bounds:Array(UInt64)})) AS size_class,
            toStartOfSecond(assumeNotNull(started_at)) AS second,
            count() AS of_second,
            sum(ifNull(response_bytes, 0)) AS bytes_of_second
        FROM requests
        WHERE started_at IS NOT NULL
            AND started_hour >= toStartOfHour(ifNull({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64(0, 6, 'UTC')))
        AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_hour <= toStartOfHour(assumeNotNull({until:Nullable(DateTime64(6, 'UTC'))})))
        AND ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {since:Nullable(DateTime64(6, 'UTC'))})
        AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
        /* conditions */
        GROUP BY
            by_values,
            size_class,
            second
        LIMIT 1000000000000
    )
    GROUP BY
        by_values,
        size_class,
        minute
    LIMIT 1000000000000
)
GROUP BY
    by_values,
    size_class
ORDER BY
    number DESC,
    toString(by_values),
    size_class
LIMIT {limit:UInt32}
