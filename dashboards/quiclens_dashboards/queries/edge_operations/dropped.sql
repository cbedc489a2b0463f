-- One row is one stretch of time: packets that no connection took, by why.
SELECT
    $__timeInterval(at) AS time,
    sumIf(packets, trigger = 'wrong_host') AS wrong_host,
    sumIf(packets, trigger = 'connection_unknown') AS connection_unknown,
    sumIf(packets, trigger NOT IN ('wrong_host', 'connection_unknown')) AS other
FROM (/* edge_operations/host_events.sql */)
WHERE name = 'quic:packet_dropped'
GROUP BY time
ORDER BY time
