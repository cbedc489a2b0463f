-- One row is one stretch of time: each cause's share of the time of the slow, traced requests that began in it.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    /* each cause: sum(trace_weight * {cause}_us) / sum(trace_weight * duration_us) AS {cause} */
FROM (/* why_slow/slow_requests.sql */)
WHERE coverage != 'none' AND duration_us > 0
GROUP BY time
ORDER BY time
