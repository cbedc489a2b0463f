-- One row is one value of the chosen column: its connections' path, loss and handshake, most connections first.
SELECT
    ifNull(toString(${by:raw}), 'unknown') AS by_value,
    count() AS connections,
    quantileExact(0.5)(rtt_min_us) AS rtt_min_p50,
    quantileExact(0.5)(rtt_mean_us) AS rtt_mean_p50,
    if(connections >= 20, quantileExact(0.95)(rtt_mean_us), NULL) AS rtt_mean_p95,
    quantileExact(0.5)(handshake_us) AS handshake_p50,
    sum(packets_lost) / nullIf(sum(packets_sent), 0) AS lost_share,
    countIf(ptos > 0) / connections AS with_pto_share
FROM (/* connections.sql */)
GROUP BY by_value
ORDER BY
    connections DESC,
    by_value
LIMIT 50
