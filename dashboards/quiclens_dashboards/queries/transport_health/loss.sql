-- One row is one stretch of time: packets lost for each one sent, and how many of those were not lost after all.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    sum(weight * packets_lost) / nullIf(sum(weight * packets_sent), 0) AS lost_share,
    sum(weight * least(packets_spurious, packets_lost)) / nullIf(sum(weight * packets_sent), 0) AS spurious_share
FROM (/* connections.sql */)
GROUP BY time
ORDER BY time
