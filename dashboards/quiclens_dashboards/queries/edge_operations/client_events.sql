-- One row is one event of an app's log in the window, with who the client is. Written into others.
SELECT
    log.*,
    log.started_at + toIntervalMicrosecond(e.time_us) AS at,
    e.name AS name,
    e.more AS more
FROM
(
    SELECT
        connection_id,
        trace_id,
        time_us,
        toString(name) AS name,
        more
    FROM events FINAL
    WHERE connection_id >= 'client:'
        AND connection_id < 'client;'
        AND trace_day >= toDate($__fromTime - INTERVAL 1 DAY, 'UTC')
        AND trace_day <= toDate($__toTime, 'UTC')
) AS e
INNER JOIN (/* edge_operations/client_logs.sql */) AS log
    ON log.connection_id = e.connection_id
    AND log.trace_id = e.trace_id
WHERE $__timeFilter(at)
