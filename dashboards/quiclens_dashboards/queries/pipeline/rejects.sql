-- One row is one stretch of time and one reason: what could not become a row, by when it was stored.
SELECT
    $__timeInterval(ingested_at) AS time,
    toString(reason) AS reason,
    count() AS rejects
FROM rejects FINAL
WHERE $__timeFilter(ingested_at)
GROUP BY
    time,
    reason
ORDER BY
    time,
    reason
