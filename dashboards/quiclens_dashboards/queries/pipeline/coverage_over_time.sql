-- One row is one stretch of time: requests by how much of them a trace shows.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    countIf(coverage = 'full') AS full,
    countIf(coverage = 'partial') AS partial,
    countIf(coverage = 'summary') AS summary,
    countIf(coverage = 'none') AS none
FROM (/* requests.sql */)
GROUP BY time
ORDER BY time
