-- One row is one group of requests: how many there are, how many have a trace, and how many are measured: those that
-- ended and whose duration is known. With a cause to leave out, only those whose trace could have shown it.
SELECT
    CAST([/* by */] AS Array(Nullable(String))) AS by_values,
    toString(by_values) AS by_key,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf({without:String} != '' AND coverage != 'none' AND has(cannot_show, {without:String})) AS cannot_show_it,
    countIf(
        complete AND duration_us IS NOT NULL
        AND ({without:String} = '' OR (coverage != 'none' AND NOT has(cannot_show, {without:String})))
    ) AS measured,
    countIf(
        complete AND duration_us IS NOT NULL AND coverage != 'none' AND NOT has(cannot_show, {without:String})
        AND saves[{without:String}] > 0
    ) AS with_saving
FROM requests
WHERE started_hour >= toStartOfHour(ifNull({since:Nullable(DateTime64(6, 'UTC'))}, toDateTime64(0, 6, 'UTC')))
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_hour <= toStartOfHour(assumeNotNull({until:Nullable(DateTime64(6, 'UTC'))})))
    AND ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at >= {since:Nullable(DateTime64(6, 'UTC'))})
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR started_at IS NULL OR started_at < {until:Nullable(DateTime64(6, 'UTC'))})
/* conditions */
GROUP BY by_values
ORDER BY
    requests DESC,
    by_key
LIMIT {limit:UInt32}
