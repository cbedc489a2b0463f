-- One row is one protocol: the smoothed round trips when its requests ended, and what only TCP's kernel tells of itself.
SELECT
    assumeNotNull(protocol) AS by_protocol,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf(rtt_us IS NOT NULL) AS measured,
    if(measured >= 1, quantileExactWeighted(0.5)(rtt_us, millionths), NULL) AS rtt_p50,
    if(measured >= 20, quantileExactWeighted(0.95)(rtt_us, millionths), NULL) AS rtt_p95,
    quantileExactWeighted(0.5)(rtt_variance_us, millionths) AS rtt_variance_p50,
    quantileExactWeighted(0.5)(tcp_congestion_window_packets, millionths) AS tcp_congestion_window_packets_p50,
    avgOrNull(tcp_packets_lost_outstanding > 0) AS tcp_loss_outstanding_share
FROM (/* requests.sql */)
WHERE protocol IS NOT NULL
GROUP BY by_protocol
ORDER BY
    requests DESC,
    by_protocol
LIMIT 50
