-- One row is one stretch of time: RTT of the connections that began in it, each by its mean and its least sample.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    quantileExact(0.5)(rtt_min_us) AS rtt_min_p50,
    quantileExact(0.5)(rtt_mean_us) AS rtt_mean_p50,
    if(count() >= 20, quantileExact(0.95)(rtt_mean_us), NULL) AS rtt_mean_p95
FROM (/* connections.sql */)
WHERE rtt_samples > 0
GROUP BY time
ORDER BY time
LIMIT 10000
