-- One row is ten seconds, counted from when restarts began: packets of all restarts of the window, together. Each restart
-- has all 36 of them, so that none in which nothing happened is missing, and no restart gives no rows.
SELECT
    bin AS since_start_us,
    sumIf(packets, name = 'host:packet_forwarded') AS forwarded,
    sumIf(packets, name = 'host:forwarded_packet_received') AS forwarded_received,
    sumIf(
        packets,
        name = 'quic:packet_dropped'
            AND trigger IN (
/* question restart_losses, over edge_operations */
)
    ) AS dropped,
    sumIf(packets, name = 'quic:packet_dropped' AND trigger = 'connection_unknown') AS connection_unknown
FROM
(
    SELECT
        name,
        trigger,
        packets,
        arrayJoin(
            if(
                name = 'host:restart_started',
                arrayMap(n -> toInt64(10000000 * n - 60000000), range(36)),
                [toInt64(floor(since_start_us / 10000000) * 10000000)]
            )
        ) AS bin
    FROM (/* edge_operations/restart_events.sql */)
)
GROUP BY bin
ORDER BY bin
LIMIT 36
