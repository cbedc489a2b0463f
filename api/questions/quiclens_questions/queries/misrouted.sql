-- One row is one place where packets landed and one that their connection ID names, most packets first: how many, and how many of
-- all that were meant for the named one, received there by the right host, or by a wrong one anywhere. That share is null
-- where hosts do not count what they receive. Places are hosts, clusters or both. What was asked for chooses where packets
-- landed; where they were meant for is told of all hosts.
SELECT
    landed,
    meant,
    packets,
    misrouted_share,
    first_at,
    last_at,
    count() OVER () AS ways,
    sum(packets) OVER () AS all_packets
FROM
(
    SELECT
        landed,
        meant,
        is_wrong_host,
        sum(counted) AS everywhere,
        sumIf(counted, fits) AS packets,
        minIf(at, fits) AS first_at,
        maxIf(at, fits) AS last_at,
        sum(everywhere) OVER (PARTITION BY meant) AS addressed,
        if(sum(if(is_wrong_host, 0, everywhere)) OVER (PARTITION BY meant) > 0, packets / addressed, NULL) AS misrouted_share
    FROM
    (
        -- Received counts hold the wrong ones too.
        SELECT
            at,
            fits,
            arrayMap(name -> if(name = 'server', server, cluster), {by:Array(String)}) AS landed,
            arrayMap(name -> if(name = 'server', id_server, id_cluster), {by:Array(String)}) AS named,
            arrayJoin(
                if(
                    name = 'quic:packet_dropped',
                    [(named, true, toInt64(packets)), (landed, false, -toInt64(packets))],
                    [(landed, false, toInt64(packets))]
                )
            ) AS way,
            way.1 AS meant,
            way.2 AS is_wrong_host,
            way.3 AS counted
        FROM (/* server_ids.sql */)
        WHERE is_within
    )
    GROUP BY
        landed,
        meant,
        is_wrong_host
)
WHERE is_wrong_host AND packets > 0
ORDER BY
    packets DESC,
    meant,
    landed
LIMIT {limit:UInt32}
