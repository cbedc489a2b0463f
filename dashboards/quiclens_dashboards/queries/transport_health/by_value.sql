-- One row is one value of the chosen column: its connections' path, loss and handshake, most connections first.
SELECT
    ifNull(toString(${by:raw}), 'unknown') AS by_value,
    count() AS connections,
    quantileExactWeighted(0.5)(rtt_min_us, millionths) AS rtt_min_p50,
    quantileExactWeighted(0.5)(rtt_mean_us, millionths) AS rtt_mean_p50,
    if(connections >= 20, quantileExactWeighted(0.95)(rtt_mean_us, millionths), NULL) AS rtt_mean_p95,
    quantileExactWeighted(0.5)(handshake_us, millionths) AS handshake_p50,
    sum(weight * packets_lost) / nullIf(sum(weight * packets_sent), 0) AS lost_share,
    sumIf(weight, ptos > 0) / nullIf(sum(weight), 0) AS with_pto_share,
    count() OVER () AS rows_in_all
FROM (/* connections.sql */)
GROUP BY by_value
ORDER BY
    connections DESC,
    by_value
LIMIT 50
