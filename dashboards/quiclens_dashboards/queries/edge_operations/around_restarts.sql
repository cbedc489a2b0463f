-- One row is ten seconds, counted from when restarts began: packets of all restarts of the window, together.
SELECT
    toInt64(floor(of_restart.since_start_us / 10000000) * 10000000) AS since_start_us,
    sumIf(packets, name = 'host:packet_forwarded') AS forwarded,
    sumIf(packets, name = 'host:forwarded_packet_received') AS forwarded_received,
    sumIf(
        packets,
        name = 'quic:packet_dropped'
            AND trigger IN ('cannot_forward', 'server_shutdown', 'worker_not_initialized')
    ) AS dropped,
    sumIf(packets, name = 'quic:packet_dropped' AND trigger = 'connection_unknown') AS connection_unknown
FROM (/* edge_operations/restart_events.sql */) AS of_restart
GROUP BY since_start_us
ORDER BY since_start_us WITH FILL FROM -60000000 TO 300000000 STEP 10000000
LIMIT 36
