-- One row: the hosts that have a log in the stretch and fit what was asked for, the packets that they say came in, and those
-- that no connection took: landed on the wrong host, of a connection that is over, and for other reasons.
SELECT
    uniqExact(server) AS hosts,
    sumIf(packets, name = 'quic:udp_datagrams_received') AS received,
    sumIf(packets, name = 'quic:packet_dropped' AND trigger = 'wrong_host') AS wrong_host,
    sumIf(packets, name = 'quic:packet_dropped' AND trigger = 'connection_unknown') AS connection_unknown,
    sumIf(packets, name = 'quic:packet_dropped' AND trigger NOT IN ('wrong_host', 'connection_unknown')) AS dropped_otherwise
FROM (/* host_events.sql */)
WHERE is_within AND fits
LIMIT 1
