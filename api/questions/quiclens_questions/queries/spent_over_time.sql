-- One row is one stretch of time: how many requests began in it, how many of those are traced, and what the time of these
-- was spent on, in us by cause; a request without a trace has no parts, and one with a trace counts for as many as
-- its parts speak for.
SELECT
    intDiv(toUnixTimestamp(assumeNotNull(started_at)), {step_s:UInt32}) * {step_s:UInt32} AS started_s,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf(grade = 'repaired') AS repaired,
    countIf(grade = 'damaged') AS damaged,
    sum(weight) AS weights,
    arrayMap(us -> toUInt64(round(us)), [/* weighted sums of causes */]) AS cause_us
FROM requests
WHERE (/* began_within.sql */)
/* conditions */
GROUP BY started_s
ORDER BY started_s
LIMIT {limit:UInt32}
