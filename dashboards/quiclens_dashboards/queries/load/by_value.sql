-- One row is one value of the chosen column: its requests of the whole window and of its busiest minute, most first.
SELECT
    by_value,
    sum(requests) AS requests,
    sum(weighted) / greatest(dateDiff('second', $__fromTime, $__toTime), 1) AS requests_per_second,
    max(weighted) / 60 AS busiest_minute_per_second,
    8 * sum(bytes) / greatest(dateDiff('second', $__fromTime, $__toTime), 1) AS response_bits_per_second,
    count() OVER () AS rows_in_all
FROM
(
    SELECT
        ifNull(toString(${by:raw}), 'unknown') AS by_value,
        toStartOfMinute(assumeNotNull(started_at)) AS minute,
        count() AS requests,
        sum(weight) AS weighted,
        sum(weight * response_bytes) AS bytes
    FROM (/* requests.sql */)
    GROUP BY
        by_value,
        minute
)
GROUP BY by_value
ORDER BY
    requests DESC,
    by_value
LIMIT 100
