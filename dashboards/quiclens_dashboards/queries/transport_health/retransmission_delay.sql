-- One row is one stretch of time: first send of a range of bytes to its first retransmission, by connection.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    quantileExactWeighted(0.5)(retransmission_delay_mean_us, millionths) AS retransmission_delay_mean_p50,
    if(count() >= 20, quantileExactWeighted(0.95)(retransmission_delay_mean_us, millionths), NULL) AS retransmission_delay_mean_p95,
    max(retransmission_delay_max_us) AS retransmission_delay_max_us
FROM (/* connections.sql */)
WHERE retransmission_delay_mean_us IS NOT NULL
GROUP BY time
ORDER BY time
