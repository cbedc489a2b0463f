-- One row: means over the whole window.
SELECT
    sum(requests) / greatest(dateDiff('second', $__fromTime, $__toTime), 1) AS requests_per_second,
    sum(connections) / greatest(dateDiff('second', $__fromTime, $__toTime), 1) AS connections_per_second,
    sum(bits) / greatest(dateDiff('second', $__fromTime, $__toTime), 1) AS response_bits_per_second
FROM
(
    SELECT
        sum(weight) AS requests,
        0 AS connections,
        8 * sum(weight * response_bytes) AS bits
    FROM (/* requests.sql */)
    UNION ALL
    SELECT
        0 AS requests,
        sum(weight) AS connections,
        NULL AS bits
    FROM (/* connections.sql */)
)
LIMIT 1
