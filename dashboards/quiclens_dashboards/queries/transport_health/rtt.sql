-- One row is one stretch of time: RTT of the connections that began in it, each by its mean and its least sample.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    quantileExactWeighted(0.5)(rtt_min_us, millionths) AS rtt_min_p50,
    quantileExactWeighted(0.5)(rtt_mean_us, millionths) AS rtt_mean_p50,
    if(count() >= 20, quantileExactWeighted(0.95)(rtt_mean_us, millionths), NULL) AS rtt_mean_p95
FROM (/* connections.sql */)
WHERE rtt_samples > 0
GROUP BY time
ORDER BY time
