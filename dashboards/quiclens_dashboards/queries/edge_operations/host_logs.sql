-- One row is one log of a host (one of its processes) that may reach into the window: who the host is, by the log's
-- header. A log begins anew at least once a day. Written into others.
SELECT
    connection_id,
    trace_id,
    assumeNotNull(started_at) AS began_at,
    ifNull(toString(server), substring(connection_id, length('host:') + 1)) AS server,
    ifNull(toString(cluster), 'unknown') AS cluster,
    JSONExtract(header, 'trace', 'common_fields', 'host_id', 'Nullable(UInt64)') AS host_id
FROM
(
    SELECT *
    FROM connections FINAL
    WHERE connection_id >= 'host:'
        AND connection_id < 'host;'
        AND trace_day >= toDate($__fromTime - INTERVAL 1 DAY, 'UTC')
        AND trace_day <= toDate($__toTime, 'UTC')
        AND started_at IS NOT NULL
        AND (/* chosen pop */)
    ORDER BY
        version DESC,
        connection_id DESC
    LIMIT 1 BY trace_id
)
