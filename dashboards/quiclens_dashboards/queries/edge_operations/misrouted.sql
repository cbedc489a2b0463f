-- One row is one cluster where packets landed and the cluster that their connection ID names: how many, and how many of
-- all that were meant for the named one: received there by the right host, or by a wrong one anywhere. Null where hosts
-- do not count what they receive.
SELECT
    landed_in,
    meant_for,
    packets,
    if(meant_and_there > 0, packets / meant, NULL) AS misrouted_share
FROM
(
    SELECT
        landed_in,
        meant_for,
        is_wrong_host,
        sum(counted) AS packets,
        sum(packets) OVER (PARTITION BY meant_for) AS meant,
        sum(if(is_wrong_host, 0, packets)) OVER (PARTITION BY meant_for) AS meant_and_there
    FROM
    (
        SELECT
            cluster AS landed_in,
            way.1 AS meant_for,
            way.2 AS is_wrong_host,
            way.3 AS counted
        FROM
        (
            -- Received counts hold the wrong ones too.
            SELECT
                cluster,
                arrayJoin(
                    if(
                        name = 'quic:packet_dropped',
                        [(id_cluster, true, toInt64(packets)), (cluster, false, -toInt64(packets))],
                        [(cluster, false, toInt64(packets))]
                    )
                ) AS way
            FROM (/* edge_operations/server_ids.sql */)
        )
    )
    GROUP BY
        landed_in,
        meant_for,
        is_wrong_host
)
WHERE is_wrong_host
ORDER BY
    meant_for,
    landed_in
