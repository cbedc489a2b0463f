-- One row is one stretch of time: probe timeouts of the connections that began in it, and how many were spurious.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    sum(c.ptos) AS ptos,
    sum(least(c.ptos_spurious, c.ptos)) AS ptos_spurious
FROM (/* connections.sql */) AS c
GROUP BY time
ORDER BY time
