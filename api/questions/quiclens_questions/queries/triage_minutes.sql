-- One row is one minute of the requests that meet the conditions of a finding: the sums of each measure.
SELECT
    toStartOfMinute(assumeNotNull(started_at)) AS minute,
    [/* hits */] AS hits,
    [/* of */] AS of,
    [/* squares */] AS squares
FROM (/* requests */)
WHERE (/* holds */)
GROUP BY minute
ORDER BY minute
LIMIT 1000000
