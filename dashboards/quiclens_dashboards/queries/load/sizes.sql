-- One row is one class of response sizes, the smallest first: its requests of the whole window.
SELECT
    size,
    count() AS requests,
    countIf(is_measured) AS measured,
    sum(weight) / greatest(dateDiff('second', $__fromTime, $__toTime), 1) AS requests_per_second,
    8 * sum(weight * response_bytes) / greatest(dateDiff('second', $__fromTime, $__toTime), 1)
        AS response_bits_per_second,
    if(measured >= 4, quantileExactWeightedIf(0.5)(duration_us, millionths, is_measured), NULL) AS p50,
    if(measured >= 20, quantileExactWeightedIf(0.95)(duration_us, millionths, is_measured), NULL) AS p95
FROM (/* load/sized_requests.sql */)
GROUP BY
    size,
    size_class
ORDER BY size_class
LIMIT 10
