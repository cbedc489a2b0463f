-- One row: the packets that hosts say came in, and what became of those that no connection took.
SELECT
    uniqExact(server) AS hosts,
    sumIf(packets, name = 'quic:udp_datagrams_received') AS received,
    sumIf(packets, name = 'quic:packet_dropped' AND trigger = 'wrong_host') / nullIf(received, 0) AS wrong_host_share,
    sumIf(packets, name = 'quic:packet_dropped' AND trigger = 'connection_unknown') / nullIf(received, 0)
        AS connection_unknown_share
FROM (/* edge_operations/host_events.sql */)
LIMIT 1
