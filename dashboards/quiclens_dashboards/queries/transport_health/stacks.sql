-- One row is one stack, version and congestion controller, most connections first.
SELECT
    stack,
    stack_version,
    congestion_controller,
    count() AS connections,
    sum(requests) AS requests,
    quantileExactWeighted(0.5)(rtt_mean_us, millionths) AS rtt_mean_p50,
    quantileExactWeighted(0.5)(handshake_us, millionths) AS handshake_p50,
    sum(weight * packets_lost) / nullIf(sum(weight * packets_sent), 0) AS lost_share,
    sum(weight * least(packets_spurious, packets_lost)) / nullIf(sum(weight * packets_lost), 0) AS spurious_of_lost_share,
    sumIf(weight, ptos > 0) / nullIf(sum(weight), 0) AS with_pto_share,
    count() OVER () AS rows_in_all
FROM (/* connections.sql */)
GROUP BY
    stack,
    stack_version,
    congestion_controller
ORDER BY
    connections DESC,
    stack,
    stack_version,
    congestion_controller
LIMIT 50
