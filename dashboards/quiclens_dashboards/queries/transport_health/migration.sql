-- One row is one stretch of time: connections that changed their path, and paths that were validated.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    countIf(migrations > 0) AS migrated,
    sum(paths_validated) AS paths_validated
FROM (/* connections.sql */)
GROUP BY time
ORDER BY time
