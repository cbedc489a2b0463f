-- One row is one stretch of time: share of the traced requests' time in which a window was what they waited for.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    sum(cwnd_blocked_us) / sum(duration_us) AS cwnd_blocked,
    sum(connection_flow_control_us) / sum(duration_us) AS connection_flow_control,
    sum(stream_flow_control_us) / sum(duration_us) AS stream_flow_control,
    sum(stream_limit_us) / sum(duration_us) AS stream_limit,
    sum(pacing_us) / sum(duration_us) AS pacing
FROM (/* requests.sql */)
WHERE coverage != 'none' AND duration_us > 0
GROUP BY time
ORDER BY time
LIMIT 10000
