-- One row is one stretch of time: connections that began in it, a second; each stands for those that its server's
-- sampling left without a trace.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    sum(weight) / $__interval_s AS new_per_second,
    sumIf(weight, zero_rtt != '') / $__interval_s AS with_0rtt_per_second
FROM (/* connections.sql */)
GROUP BY time
ORDER BY time
