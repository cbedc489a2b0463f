-- One row is one event of packets that came in, or that landed on the wrong host: there with what their connection ID
-- says, by mvfst's layouts (bits from the first byte's highest: version 0-1; 1: host 2-17, worker 18-25, process 26;
-- 2: host 8-31, worker 32-39, process 40; 3: host 8-39, worker 40-47, process 48), null where it is none of them, and
-- the cluster and server whose log has that host id. Written into others.
SELECT
    e.*,
    if(owner.cluster = '', 'unknown', owner.cluster) AS id_cluster,
    if(owner.server = '', 'unknown', owner.server) AS id_server
FROM
(
    SELECT
        *,
        reinterpretAsUInt64(reverse(unhex(rightPad(substring(dcid, 1, 16), 16, '0')))) AS bits,
        [0, 4, 6, 7] AS least_bytes,
        bitShiftRight(bits, 62) AS version_bits,
        if(version_bits > 0 AND length(dcid) / 2 >= least_bytes[version_bits + 1], version_bits, NULL) AS id_version,
        multiIf(
            id_version = 1, bitAnd(bitShiftRight(bits, 46), 0xFFFF),
            id_version = 2, bitAnd(bitShiftRight(bits, 32), 0xFFFFFF),
            id_version = 3, bitAnd(bitShiftRight(bits, 24), 0xFFFFFFFF),
            NULL
        ) AS id_host,
        multiIf(
            id_version = 1, bitAnd(bitShiftRight(bits, 38), 0xFF),
            id_version = 2, bitAnd(bitShiftRight(bits, 24), 0xFF),
            id_version = 3, bitAnd(bitShiftRight(bits, 16), 0xFF),
            NULL
        ) AS id_worker,
        multiIf(
            id_version = 1, bitAnd(bitShiftRight(bits, 37), 1),
            id_version = 2, bitAnd(bitShiftRight(bits, 23), 1),
            id_version = 3, bitAnd(bitShiftRight(bits, 15), 1),
            NULL
        ) AS id_process
    FROM (/* host_events.sql */)
    WHERE name = 'quic:udp_datagrams_received' OR (name = 'quic:packet_dropped' AND trigger = 'wrong_host')
) AS e
LEFT JOIN
(
    SELECT
        host_id,
        min(cluster) AS cluster,
        min(server) AS server
    FROM (/* host_logs.sql */)
    WHERE host_id IS NOT NULL
    GROUP BY host_id
) AS owner ON owner.host_id = e.id_host
