-- One row is one value of the dimension: how many connections it has, and how many of them lost packets, and when.
SELECT
    toString({by:Identifier}) AS by_value,
    count() AS connections,
    countIf(packets_lost > 0) AS with_loss,
    countIf(packets_lost > 0 AND packets_lost_handshake > 0) AS with_loss_in_handshake,
    countIf(packets_lost > 0 AND packets_lost_data > 0) AS with_loss_in_data
FROM (/* chosen_connections.sql */)
WHERE packets > 0
GROUP BY by_value
ORDER BY
    connections DESC,
    by_value
LIMIT {limit:UInt32}
