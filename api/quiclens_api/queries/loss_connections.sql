-- One row is one group: how many connections it has, how many of them lost packets or probed, and when, and how many
-- losses and probe timeouts turned out to be spurious.
SELECT
    CAST([/* by */] AS Array(Nullable(String))) AS by_values,
    toString(by_values) AS by_key,
    count() AS connections,
    countIf(packets_lost > 0) AS with_loss,
    countIf(packets_lost > 0 AND packets_lost_handshake > 0) AS with_loss_in_handshake,
    countIf(packets_lost > 0 AND packets_lost_data > 0) AS with_loss_in_data,
    countIf(ptos > 0) AS with_pto,
    sum(packets_lost) AS lost,
    sum(least(packets_spurious, packets_lost)) AS lost_spurious,
    sum(ptos) AS timeouts,
    sum(least(ptos_spurious, ptos)) AS timeouts_spurious
FROM (/* chosen_connections.sql */)
WHERE packets > 0
GROUP BY by_values
ORDER BY
    connections DESC,
    by_key
LIMIT {limit:UInt32}
