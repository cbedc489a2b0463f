-- One row is one stack, version and congestion controller, most connections first.
SELECT
    stack,
    stack_version,
    congestion_controller,
    count() AS connections,
    sum(requests) AS requests,
    quantileExact(0.5)(rtt_mean_us) AS rtt_mean_p50,
    quantileExact(0.5)(handshake_us) AS handshake_p50,
    sum(packets_lost) / nullIf(sum(packets_sent), 0) AS lost_share,
    sum(least(packets_spurious, packets_lost)) / nullIf(sum(packets_lost), 0) AS spurious_of_lost_share,
    countIf(ptos > 0) / connections AS with_pto_share
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
