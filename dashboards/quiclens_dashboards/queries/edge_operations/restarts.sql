-- One row is one restart, the newest first: its packets within five minutes, and what was lost between the processes.
SELECT
    server,
    cluster,
    release,
    began_at,
    nullIf(maxIf(since_start_us, name = 'host:restart_ended' AND since_start_us > 0), 0) AS took_us,
    sumIf(packets, name = 'host:packet_forwarded') AS forwarded,
    sumIf(packets, name = 'host:forwarded_packet_received') AS forwarded_received,
    greatest(toInt64(forwarded) - toInt64(forwarded_received), 0) / nullIf(forwarded, 0) AS hop_lost_share,
    sumIf(
        packets,
        name = 'quic:packet_dropped'
            AND trigger IN (
/* question restart_losses, over edge_operations */
)
    ) AS dropped,
    sumIf(packets, name = 'host:stateless_reset_sent' AND since_start_us >= 0) AS resets_sent,
    count() OVER () AS rows_in_all
FROM (/* edge_operations/restart_events.sql */)
GROUP BY
    server,
    cluster,
    release,
    began_at
ORDER BY
    began_at DESC,
    server
LIMIT 200
