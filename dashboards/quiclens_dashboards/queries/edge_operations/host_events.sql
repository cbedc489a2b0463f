-- One row is one event of a host's log in the window, and for how many packets it stands. Written into others.
SELECT
    log.began_at + toIntervalMicrosecond(e.time_us) AS at,
    log.server AS server,
    log.cluster AS cluster,
    e.name AS name,
    e.trigger AS trigger,
    e.dcid AS dcid,
    e.packets AS packets,
    e.release AS release
FROM
(
    SELECT
        connection_id,
        trace_id,
        time_us,
        toString(name) AS name,
        toString(trigger) AS trigger,
        toString(dcid) AS dcid,
        ifNull(count, 1) AS packets,
        JSONExtractString(more['release']) AS release
    FROM events FINAL
    WHERE connection_id >= 'host:'
        AND connection_id < 'host;'
        AND trace_day >= toDate($__fromTime - INTERVAL 1 DAY, 'UTC')
        AND trace_day <= toDate($__toTime, 'UTC')
) AS e
INNER JOIN (/* edge_operations/host_logs.sql */) AS log
    ON log.connection_id = e.connection_id
    AND log.trace_id = e.trace_id
WHERE $__timeFilter(at)
