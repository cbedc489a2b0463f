-- One row is one stretch of time of one of the largest groups: how many requests began in it, and its quantiles (each
-- the value of a request, null where too few were measured for it); and, the same in every row, how many requests
-- all groups have together, and how many groups there are. One look at each request.
SELECT
    started_s,
    by_values,
    cityHash64(toString(CAST(by_values AS Array(Nullable(String))))) AS key_id,
    requests,
    traced,
    if(measured >= 1, all[1], NULL) AS p50,
    if(measured >= 4, all[2], NULL) AS p75,
    if(measured >= 10, all[3], NULL) AS p90,
    if(measured >= 20, all[4], NULL) AS p95,
    if(measured >= 100, all[5], NULL) AS p99,
    all_requests,
    all_traced,
    all_repaired,
    all_damaged,
    all_weight,
    all_groups
FROM
(
    SELECT
        *,
        dense_rank() OVER (ORDER BY group_requests DESC, by_values) AS place,
        sum(requests) OVER () AS all_requests,
        sum(traced) OVER () AS all_traced,
        sum(repaired) OVER () AS all_repaired,
        sum(damaged) OVER () AS all_damaged,
        round(sum(weights) OVER (), 6) AS all_weight,
        uniqExact(by_values) OVER () AS all_groups
    FROM
    (
        SELECT
            *,
            sum(requests) OVER (PARTITION BY by_values) AS group_requests
        FROM
        (
            SELECT
                intDiv(toUnixTimestamp(assumeNotNull(started_at)), {step_s:UInt32}) * {step_s:UInt32} AS started_s,
                [/* by */] AS by_values,
                count() AS requests,
                countIf(coverage != 'none') AS traced,
                countIf(grade = 'repaired') AS repaired,
                countIf(grade = 'damaged') AS damaged,
                sum(weight) AS weights,
                countIf((/* ingest/measured_request.sql */)) AS measured,
                quantilesExactWeightedIf(0.5, 0.75, 0.9, 0.95, 0.99)(
                    assumeNotNull(duration_us), toUInt64(round(weight * 1000000)), (/* ingest/measured_request.sql */)
                ) AS all
            FROM requests
            WHERE (/* began_within.sql */)
            /* conditions */
            GROUP BY
                started_s/* by keys */
        )
    )
)
WHERE place <= {groups:UInt32}
ORDER BY
    by_values,
    started_s
LIMIT {limit:UInt32}
