-- One row is one stretch of time: connections whose handshake never completed, and Retry packets.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    countIf(NOT handshake_complete) AS incomplete,
    sum(retries) AS retries
FROM (/* connections.sql */)
GROUP BY time
ORDER BY time
