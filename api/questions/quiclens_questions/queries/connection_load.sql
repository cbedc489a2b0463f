-- One row is one group: its new connections, those whose log has packets (a host's own or an app's has none), for how many
-- they stand, the most within one second; and of the buckets that the stretch is cut into, from its beginning, the sum of
-- squares, and the last one's. A connection begins before its first request, so that it may begin before the stretch does: it
-- counts in the first bucket.
SELECT
    by_values,
    sum(rows_of) AS samples,
    sum(n) AS number,
    max(most) AS peak,
    sum(n * n) AS sum_nn,
    sumIf(n, bucket = {last_bucket:UInt32}) AS n_last
FROM
(
    SELECT
        by_values,
        least(intDiv(second, {bucket_s:UInt32}), {last_bucket:UInt32}) AS bucket,
        sum(rows_of_second) AS rows_of,
        sum(of_second) AS n,
        max(of_second) AS most
    FROM
    (
        SELECT
            CAST([/* by */] AS Array(Nullable(String))) AS by_values,
            intDiv(greatest(0, toUnixTimestamp64Micro(assumeNotNull(started_at)) - {first_us:Int64}), 1000000) AS second,
            count() AS rows_of_second,
            sum(connection_weight) AS of_second
        FROM (/* chosen_connections.sql */)
        WHERE started_at IS NOT NULL AND packets > 0
        GROUP BY
            by_values,
            second
    )
    GROUP BY
        by_values,
        bucket
)
GROUP BY by_values
ORDER BY
    number DESC,
    toString(by_values)
LIMIT {limit:UInt32}
