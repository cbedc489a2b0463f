-- One row: of the packets that hosts received in the window, the share whose connection ID names another host; no row where no
-- host counts what it receives.
SELECT
    sumIf(packets, name = 'quic:packet_dropped' AND trigger = 'wrong_host')
    / sumIf(packets, name = 'quic:udp_datagrams_received') AS misrouted_share
FROM (/* edge_operations/host_events.sql */)
HAVING sumIf(packets, name = 'quic:udp_datagrams_received') > 0
LIMIT 1
