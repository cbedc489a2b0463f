-- One row is one stretch of time of one group: how many requests began in it, its quantiles (each the value of a request,
-- null where too few were measured for it), and how its time was spent.
SELECT
    toUnixTimestamp(toStartOfInterval(started_at, toIntervalSecond({step_s:UInt32}))) AS started_s,
    [/* by */] AS by_values,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf(complete AND duration_us IS NOT NULL) AS measured,
    if(measured >= 1, quantileExactIf(0.5)(duration_us, complete), NULL) AS p50,
    if(measured >= 4, quantileExactIf(0.75)(duration_us, complete), NULL) AS p75,
    if(measured >= 10, quantileExactIf(0.9)(duration_us, complete), NULL) AS p90,
    if(measured >= 20, quantileExactIf(0.95)(duration_us, complete), NULL) AS p95,
    if(measured >= 100, quantileExactIf(0.99)(duration_us, complete), NULL) AS p99,
    arrayMap(us -> toUInt64(us), sumForEachIf([/* causes */], coverage != 'none')) AS cause_us
FROM requests
WHERE started_at IS NOT NULL
    AND started_hour >= toStartOfHour({since:DateTime64(6, 'UTC')})
    AND started_hour <= toStartOfHour({until:DateTime64(6, 'UTC')})
    AND started_at >= {since:DateTime64(6, 'UTC')}
    AND started_at < {until:DateTime64(6, 'UTC')}
/* conditions */
GROUP BY
    started_s,
    by_values
HAVING by_values IN
(
    SELECT by_values
    FROM
    (
        SELECT
            [/* by */] AS by_values,
            count() AS size
        FROM requests
        WHERE started_at IS NOT NULL
            AND started_hour >= toStartOfHour({since:DateTime64(6, 'UTC')})
            AND started_hour <= toStartOfHour({until:DateTime64(6, 'UTC')})
            AND started_at >= {since:DateTime64(6, 'UTC')}
            AND started_at < {until:DateTime64(6, 'UTC')}
        /* conditions */
        GROUP BY by_values
        ORDER BY
            size DESC,
            by_values
        LIMIT {groups:UInt32}
    )
)
ORDER BY
    by_values,
    started_s
LIMIT {limit:UInt32}
