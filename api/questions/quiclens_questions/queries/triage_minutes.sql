-- One row is one minute of the requests that meet the conditions of a finding: how many there are, and how many count.
SELECT
    toStartOfMinute(assumeNotNull(started_at)) AS minute,
    toFloat64(sumIf(stands_for, is_measured)) AS measured,
    toFloat64(countIf(is_slow)) AS slow,
    toFloat64(countIf(is_very_slow)) AS very_slow,
    toFloat64(countIf(is_extreme)) AS extreme,
    toFloat64(sumIf(stands_for, complete)) AS ended,
    toFloat64(countIf(is_failed)) AS failed
FROM (/* triage_requests.sql */)
WHERE (/* holds */)
GROUP BY minute
ORDER BY minute
LIMIT 1000000
