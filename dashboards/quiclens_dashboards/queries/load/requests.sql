-- One row is one stretch of time and one class of response sizes: requests that began in it, a second.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    size,
    sum(weight) / $__interval_s AS requests_per_second
FROM (/* load/sized_requests.sql */)
GROUP BY
    time,
    size,
    size_class
ORDER BY
    time,
    size_class
