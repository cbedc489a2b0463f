-- One row is one stretch of time of one group: how many requests began in it, its quantiles (each the value of a request,
-- null where too few were measured for it), and how its time was spent; a request without a trace has no parts.
SELECT
    intDiv(toUnixTimestamp(assumeNotNull(started_at)), {step_s:UInt32}) * {step_s:UInt32} AS started_s,
    [/* by */] AS by_values,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf(complete AND duration_us IS NOT NULL) AS measured,
    quantilesExactIf(0.5, 0.75, 0.9, 0.95, 0.99)(assumeNotNull(duration_us), complete AND duration_us IS NOT NULL) AS all,
    if(measured >= 1, all[1], NULL) AS p50,
    if(measured >= 4, all[2], NULL) AS p75,
    if(measured >= 10, all[3], NULL) AS p90,
    if(measured >= 20, all[4], NULL) AS p95,
    if(measured >= 100, all[5], NULL) AS p99,
    [/* sums of causes */] AS cause_us
FROM requests
WHERE started_at IS NOT NULL
    AND started_hour >= toStartOfHour({since:DateTime64(6, 'UTC')})
    AND started_hour <= toStartOfHour({until:DateTime64(6, 'UTC')})
    AND started_at >= {since:DateTime64(6, 'UTC')}
    AND started_at < {until:DateTime64(6, 'UTC')}
/* conditions */
GROUP BY
    started_s/* by keys */
HAVING by_values IN
(
    SELECT by_values
    FROM
    (
        SELECT
            1 AS one,
            [/* by */] AS by_values,
            count() AS size
        FROM requests
        WHERE started_at IS NOT NULL
            AND started_hour >= toStartOfHour({since:DateTime64(6, 'UTC')})
            AND started_hour <= toStartOfHour({until:DateTime64(6, 'UTC')})
            AND started_at >= {since:DateTime64(6, 'UTC')}
            AND started_at < {until:DateTime64(6, 'UTC')}
        /* conditions */
        GROUP BY
            one/* by keys */
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
