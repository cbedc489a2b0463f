-- One row is one group: its requests whose protocol is known, those of them over QUIC, and how they fall on users.
SELECT
    by_values,
    sum(n) AS requests,
    sum(a) AS over_quic,
    count() AS draws,
    sum(a * a) AS sum_aa,
    sum(a * n) AS sum_an,
    sum(n * n) AS sum_nn
FROM
(
    SELECT
        CAST([/* by */] AS Array(Nullable(String))) AS by_values,
        coalesce(user_hash, connection_id, request_id) AS draw,
        toFloat64(count()) AS n,
        toFloat64(countIf(protocol = 'h3')) AS a
    FROM requests
    WHERE protocol IS NOT NULL
        AND started_hour >= toStartOfHour(ifNull({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64(0, 6, 'UTC')))
        AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_hour <= toStartOfHour(assumeNotNull({until:Nullable(DateTime64(6, 'UTC'))})))
        AND ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {since:Nullable(DateTime64(6, 'UTC'))})
        AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
    /* conditions */
    GROUP BY
        by_values,
        draw
    LIMIT 1000000000000
)
GROUP BY by_values
ORDER BY
    requests DESC,
    toString(by_values)
LIMIT {limit:UInt32}
