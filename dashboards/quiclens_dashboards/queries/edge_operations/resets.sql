-- One row is one stretch of time: stateless resets that hosts sent, and connections whose client's trace ends with one.
SELECT
    $__timeInterval(at) AS time,
    sum(sent) AS resets_sent,
    sum(received) AS resets_received
FROM
(
    SELECT
        at,
        packets AS sent,
        0 AS received
    FROM (/* edge_operations/host_events.sql */)
    WHERE name = 'host:stateless_reset_sent'
    UNION ALL
    SELECT
        assumeNotNull(started_at) + toIntervalMicrosecond(duration_us) AS at,
        0 AS sent,
        1 AS received
    FROM (/* edge_operations/client_traces.sql */)
    WHERE close_reason = 'stateless_reset' AND $__timeFilter(at)
)
GROUP BY time
ORDER BY time
