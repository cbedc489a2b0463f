-- One row is one stretch of time: connections by what became of their 0-RTT data.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    countIf(zero_rtt = 'accepted') AS accepted,
    countIf(zero_rtt = 'rejected') AS rejected,
    countIf(zero_rtt = 'attempted') AS attempted,
    countIf(zero_rtt = '') AS not_attempted
FROM (/* connections.sql */)
GROUP BY time
ORDER BY time
