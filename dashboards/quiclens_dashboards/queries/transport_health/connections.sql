-- One row: the connections of the window, and shares of them.
SELECT
    count() AS connections,
    sumIf(weight, packets_lost > 0) / nullIf(sum(weight), 0) AS with_loss_share,
    sumIf(weight, ptos > 0) / nullIf(sum(weight), 0) AS with_pto_share
FROM (/* connections.sql */)
LIMIT 1
