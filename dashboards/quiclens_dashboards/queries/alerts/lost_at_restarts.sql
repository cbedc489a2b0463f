-- One row: of the packets of the window that came for connections of a process before, the share that was dropped and not
-- forwarded; no row where none came.
SELECT
    sumIf(packets, name = 'quic:packet_dropped') / sum(packets) AS dropped_share
FROM (/* edge_operations/host_events.sql */)
WHERE name = 'host:packet_forwarded'
    OR name = 'quic:packet_dropped' AND trigger IN (
/* question restart_losses, over edge_operations */
)
HAVING sum(packets) > 0
LIMIT 1
