-- One row is one connection as its client's trace saw it, whether or not its server has a trace. Written into others.
SELECT *
FROM connections FINAL
WHERE trace_day >= toDate($__fromTime - INTERVAL 1 DAY, 'UTC')
    AND trace_day <= toDate($__toTime, 'UTC')
    AND vantage = 'client'
    AND started_at IS NOT NULL
    AND packets_sent + packets_received > 0
    AND (/* everything chosen */)
ORDER BY
    version DESC,
    connection_id DESC
LIMIT 1 BY trace_id
