-- One row is one group of restarts that began in the stretch and fit what was asked for, the newest first: their packets from a
-- minute before the new process took over to five minutes after, and what was lost between the processes. By `since_start` each
-- restart has all 36 times of ten seconds, so that none in which nothing happened is missing.
SELECT
    arrayMap(
        name -> map(
            'server', toNullable(server),
            'cluster', toNullable(cluster),
            'pop', pop,
            'server_release', release,
            'began_at', toNullable(concat(replaceOne(toString(began_at), ' ', 'T'), 'Z')),
            'since_start', toNullable(toString(bin))
        )[name],
        {by:Array(String)}
    ) AS by_values,
    uniqExact(server, began_at) AS restarts,
    nullIf(maxIf(since_start_us, name = 'host:restart_ended' AND since_start_us > 0), 0) AS took_us,
    sumIf(packets, name = 'quic:udp_datagrams_received') AS received,
    sumIf(packets, name = 'host:packet_forwarded') AS forwarded,
    sumIf(packets, name = 'host:forwarded_packet_received') AS forwarded_received,
    greatest(toInt64(forwarded) - toInt64(forwarded_received), 0) / nullIf(forwarded, 0) AS hop_lost_share,
    sumIf(
        packets,
        name = 'quic:packet_dropped'
            AND trigger IN (/* restart_losses.sql */)
    ) AS dropped,
    sumIf(packets, name = 'quic:packet_dropped' AND trigger = 'connection_unknown') AS connection_unknown,
    sumIf(packets, name = 'host:stateless_reset_sent' AND since_start_us >= 0) AS resets_sent,
    sum(countIf(name = 'host:restart_started' AND since_start_us = 0 AND bin = 0)) OVER () AS all_restarts,
    count() OVER () AS groups_in_all
FROM
(
    SELECT
        r.server AS server,
        r.cluster AS cluster,
        r.pop AS pop,
        r.release AS release,
        r.at AS began_at,
        toInt64(toUnixTimestamp64Micro(e.at)) - toInt64(toUnixTimestamp64Micro(r.at)) AS since_start_us,
        e.name AS name,
        e.trigger AS trigger,
        e.packets AS packets,
        arrayJoin(
            if(
                e.name = 'host:restart_started' AND has({by:Array(String)}, 'since_start'),
                arrayMap(n -> toInt64(10 * n) - 60, range(36)),
                [toInt64(10 * floor(since_start_us / 10000000))]
            )
        ) AS bin
    FROM (/* host_events.sql */) AS e
    INNER JOIN
    (
        -- Only events of about its time are laid beside a restart: those of its five minutes, and of the ones around.
        SELECT
            *,
            arrayJoin(arrayMap(around -> toInt64(intDiv(toUnixTimestamp(at), 300)) + around, [-1, 0, 1])) AS five_minutes
        FROM (/* host_events.sql */)
        WHERE name = 'host:restart_started' AND is_within AND fits
    ) AS r ON r.server = e.server AND r.five_minutes = toInt64(intDiv(toUnixTimestamp(e.at), 300))
    WHERE since_start_us >= -60000000 AND since_start_us < 300000000
)
GROUP BY by_values
ORDER BY
    arrayFilter((value, name) -> has({by:Array(String)}, 'since_start') AND name != 'since_start', by_values, {by:Array(String)}),
    if(has({by:Array(String)}, 'since_start'), min(bin), 0),
    max(began_at) DESC,
    by_values
LIMIT {limit:UInt32}
