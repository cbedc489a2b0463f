-- One row is one stretch of time: how long handshakes took, of the connections that completed one.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    quantileExactWeighted(0.5)(handshake_us, millionths) AS handshake_p50,
    if(count() >= 20, quantileExactWeighted(0.95)(handshake_us, millionths), NULL) AS handshake_p95
FROM (/* connections.sql */)
WHERE handshake_complete AND handshake_us IS NOT NULL
GROUP BY time
ORDER BY time
