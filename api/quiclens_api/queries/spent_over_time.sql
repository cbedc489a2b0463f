-- One row is one stretch of time: how many requests began in it, how many of those are traced, and what the time of these
-- was spent on, in us by cause; a request without a trace has no parts.
SELECT
    intDiv(toUnixTimestamp(assumeNotNull(started_at)), {step_s:UInt32}) * {step_s:UInt32} AS started_s,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    sum(weight) AS weights,
    [/* sums of causes */] AS cause_us
FROM requests
WHERE started_at IS NOT NULL
    AND started_hour >= toStartOfHour({since:DateTime64(6, 'UTC')})
    AND started_hour <= toStartOfHour({until:DateTime64(6, 'UTC')})
    AND started_at >= {since:DateTime64(6, 'UTC')}
    AND started_at < {until:DateTime64(6, 'UTC')}
/* conditions */
GROUP BY started_s
ORDER BY started_s
LIMIT {limit:UInt32}
