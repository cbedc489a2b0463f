-- One row is one connection of the window that fits what was chosen, as the trace that speaks for it saw it (server
-- before client before network, complete before cut, most events). A log without packets says nothing of a connection.
-- It stands for `millionths` millionths of a connection. The inner step is the view connections_now, held to the days of the window. Written into others.
SELECT
    *,
    1 / if(trace_probability BETWEEN 0.000001 AND 1, trace_probability, 1) AS weight,
    toUInt64(round(weight * 1000000)) AS millionths
FROM
(
    SELECT *
    FROM connections FINAL
    WHERE trace_day >= toDate($__fromTime, 'UTC')
        AND trace_day <= toDate($__toTime, 'UTC')
        AND $__timeFilter(started_at)
        AND packets_sent + packets_received > 0
        AND (/* everything chosen */)
    ORDER BY
        version DESC,
        connection_id DESC
    LIMIT 1 BY trace_id
)
ORDER BY
    connection_id,
    transform(vantage, ['server', 'client', 'network'], [0, 1, 2], 3),
    complete DESC,
    events_seen DESC,
    trace_id
LIMIT 1 BY connection_id
