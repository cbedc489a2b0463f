-- One row is one restart that began in the window, and one event of its host from a minute before it began to five
-- minutes after. Written into others.
SELECT
    r.server AS server,
    r.cluster AS cluster,
    r.release AS release,
    r.at AS began_at,
    toInt64(toUnixTimestamp64Micro(e.at)) - toInt64(toUnixTimestamp64Micro(r.at)) AS since_start_us,
    e.name AS name,
    e.trigger AS trigger,
    e.packets AS packets
FROM (/* edge_operations/host_events.sql */) AS e
INNER JOIN
(
    SELECT
        server,
        cluster,
        release,
        at
    FROM (/* edge_operations/host_events.sql */)
    WHERE name = 'host:restart_started'
) AS r ON r.server = e.server
WHERE since_start_us >= -60000000 AND since_start_us < 300000000
