-- One row is one group: its new connections, the most within one second, and the sum of squares of each minute's number.
SELECT
    by_values,
    sum(n) AS number,
    max(most) AS peak,
    sum(n * n) AS sum_nn
FROM
(
    SELECT
        by_values,
        toStartOfMinute(second) AS minute,
        toFloat64(sum(of_second)) AS n,
        max(of_second) AS most
    FROM
    (
        SELECT
            CAST([/* by */] AS Array(Nullable(String))) AS by_values,
            toStartOfSecond(assumeNotNull(started_at)) AS second,
            count() AS of_second
        FROM (/* chosen_connections.sql */)
        WHERE started_at IS NOT NULL
        GROUP BY
            by_values,
            second
        LIMIT 1000000000000
    )
    GROUP BY
        by_values,
        minute
    LIMIT 1000000000000
)
GROUP BY by_values
ORDER BY
    number DESC,
    toString(by_values)
LIMIT {limit:UInt32}
