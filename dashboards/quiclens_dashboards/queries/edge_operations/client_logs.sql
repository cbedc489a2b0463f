-- One row is one log of an app that may reach into the window, with who the client is. A log begins anew at least once
-- a day. Written into others.
SELECT
    connection_id,
    trace_id,
    assumeNotNull(started_at) AS started_at,
    carrier,
    region,
    city,
    pop,
    network_type,
    app_version
FROM connections FINAL
WHERE connection_id >= 'client:'
    AND connection_id < 'client;'
    AND trace_day >= toDate($__fromTime - INTERVAL 1 DAY, 'UTC')
    AND trace_day <= toDate($__toTime, 'UTC')
    AND started_at IS NOT NULL
    AND (/* everything chosen */)
ORDER BY
    version DESC,
    connection_id DESC
LIMIT 1 BY trace_id
