-- One row: the connections of the window, and shares of them.
SELECT
    count() AS connections,
    countIf(packets_lost > 0) / nullIf(connections, 0) AS with_loss_share,
    countIf(ptos > 0) / nullIf(connections, 0) AS with_pto_share
FROM (/* connections.sql */)
LIMIT 1
