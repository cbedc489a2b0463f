-- One row is one log of a host (one of its processes) that may reach into the stretch: who the host is, by the log's header, and
-- whether that fits what was asked for. A log begins anew at least once a day; one without a time cannot be laid beside
-- others, and is not here. Written into others.
SELECT
    *,
    ifNull(true /* conditions */, false) AS fits
FROM
(
    SELECT
        connection_id,
        trace_id,
        assumeNotNull(started_at) AS began_at,
        ifNull(toString(server), substring(connection_id, length('host:') + 1)) AS server,
        ifNull(toString(cluster), 'unknown') AS cluster,
        toString(pop) AS pop,
        ifNull(toString(server_release), JSONExtract(header, 'trace', 'common_fields', 'release', 'Nullable(String)'))
            AS server_release,
        JSONExtract(header, 'trace', 'common_fields', 'host_id', 'Nullable(UInt64)') AS host_id
    FROM connections FINAL
    WHERE connection_id >= 'host:'
        AND connection_id < 'host;'
        AND started_at IS NOT NULL
        AND (/* days_of_logs.sql */)
    ORDER BY
        version DESC,
        connection_id DESC
    LIMIT 1 BY trace_id
)
