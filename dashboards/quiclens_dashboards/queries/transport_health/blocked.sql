-- One row is one stretch of time: share of the traced requests' time in which a window was what they waited for.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    sum(trace_weight * cwnd_blocked_us) / sum(trace_weight * duration_us) AS cwnd_blocked,
    sum(trace_weight * connection_flow_control_us) / sum(trace_weight * duration_us) AS connection_flow_control,
    sum(trace_weight * stream_flow_control_us) / sum(trace_weight * duration_us) AS stream_flow_control,
    sum(trace_weight * stream_limit_us) / sum(trace_weight * duration_us) AS stream_limit,
    sum(trace_weight * pacing_us) / sum(trace_weight * duration_us) AS pacing
FROM (/* requests.sql */)
WHERE coverage != 'none' AND duration_us > 0
GROUP BY time
ORDER BY time
