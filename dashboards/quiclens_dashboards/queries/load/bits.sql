-- One row is one stretch of time: bits a second of the bodies of the requests that began in it.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    8 * sum(weight * response_bytes) / $__interval_s AS response_bits_per_second,
    8 * sum(weight * request_bytes) / $__interval_s AS request_bits_per_second
FROM (/* requests.sql */)
GROUP BY time
ORDER BY time
