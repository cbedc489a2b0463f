-- One row is one group and size of response: its requests, for how many they stand, their bytes, the most within one
-- second; and of the buckets that the stretch is cut into, from its beginning, the sum of squares, and the last one's.
SELECT
    by_values,
    size_class,
    sum(rows_of) AS samples,
    sum(n) AS number,
    sum(bytes) AS response_bytes,
    max(most) AS peak,
    sum(n * n) AS sum_nn,
    sumIf(n, bucket = {last_bucket:UInt32}) AS n_last
FROM
(
    SELECT
        by_values,
        size_class,
        intDiv(second, {bucket_s:UInt32}) AS bucket,
        sum(rows_of_second) AS rows_of,
        sum(of_second) AS n,
        sum(bytes_of_second) AS bytes,
        max(of_second) AS most
    FROM
    (
        SELECT
            CAST([/* by */] AS Array(Nullable(String))) AS by_values,
            if(response_bytes IS NULL, -1, arrayFirstIndex(bound -> response_bytes <= bound, {bounds:Array(UInt64)})) AS size_class,
            intDiv(toUnixTimestamp64Micro(assumeNotNull(started_at)) - {first_us:Int64}, 1000000) AS second,
            count() AS rows_of_second,
            sum(weight) AS of_second,
            sum(weight * ifNull(response_bytes, 0)) AS bytes_of_second
        FROM requests
        WHERE started_at IS NOT NULL
            AND (/* in_window.sql */)
        /* conditions */
        GROUP BY
            by_values,
            size_class,
            second
    )
    GROUP BY
        by_values,
        size_class,
        bucket
)
GROUP BY
    by_values,
    size_class
ORDER BY
    number DESC,
    toString(by_values),
    size_class
LIMIT {limit:UInt32}
