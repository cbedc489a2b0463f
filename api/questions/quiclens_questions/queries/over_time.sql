-- One row is one stretch of time of one of the groups that are drawn, or of all others together: how many requests began in
-- it, and its quantiles (each the value of a request, null where too few were measured for it); and, the same in every
-- row, how many requests all groups have together, and how many groups there are. Drawn are the groups with most
-- requests, or those in which slow requests have the largest share: the lower end of its 95 % interval (Wilson, with the
-- effective size of a weighted sample by Kish), so that a few requests do not lead. One look at each request.
SELECT
    started_s,
    drawn_values AS by_values,
    is_others,
    cityHash64(toString(CAST(drawn_values AS Array(Nullable(String))))) AS key_id,
    sum(requests) AS requests,
    sum(traced) AS traced,
    sum(measured) AS of_values,
    quantilesExactWeightedIfMerge(0.5, 0.75, 0.9, 0.95, 0.99)(durations) AS all,
    if(of_values >= 1, all[1], NULL) AS p50,
    if(of_values >= 4, all[2], NULL) AS p75,
    if(of_values >= 10, all[3], NULL) AS p90,
    if(of_values >= 20, all[4], NULL) AS p95,
    if(of_values >= 100, all[5], NULL) AS p99,
    any(all_requests) AS all_requests,
    any(all_traced) AS all_traced,
    any(all_repaired) AS all_repaired,
    any(all_damaged) AS all_damaged,
    any(all_weight) AS all_weight,
    any(all_groups) AS all_groups
FROM
(
    SELECT
        *,
        dense_rank() OVER (ORDER BY led_by DESC, group_requests DESC, by_values) AS place,
        place > {groups:UInt32} AS is_others,
        if(is_others, [], by_values) AS drawn_values,
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
            sum(requests) OVER (PARTITION BY by_values) AS group_requests,
            sum(measured_weight) OVER (PARTITION BY by_values) AS group_weight,
            sum(slow_weight) OVER (PARTITION BY by_values) / group_weight AS slow_share,
            pow(group_weight, 2) / sum(weight_squares) OVER (PARTITION BY by_values) AS effective,
            if(
                {slow_us:UInt64} = 0 OR group_weight = 0,
                0,
                (
                    slow_share + 1.92 / effective
                    - 1.96 * sqrt(slow_share * (1 - slow_share) / effective + 0.9604 / pow(effective, 2))
                ) / (1 + 3.8416 / effective)
            ) AS led_by
        FROM
        (
            WITH (/* ingest/measured_request.sql */) AS is_measured
            SELECT
                intDiv(toUnixTimestamp(assumeNotNull(started_at)), {step_s:UInt32}) * {step_s:UInt32} AS started_s,
                [/* by */] AS by_values,
                count() AS requests,
                countIf(coverage != 'none') AS traced,
                countIf(grade = 'repaired') AS repaired,
                countIf(grade = 'damaged') AS damaged,
                sum(weight) AS weights,
                countIf(is_measured) AS measured,
                sumIf(weight, is_measured) AS measured_weight,
                sumIf(weight * weight, is_measured) AS weight_squares,
                sumIf(weight, is_measured AND duration_us > {slow_us:UInt64}) AS slow_weight,
                quantilesExactWeightedIfState(0.5, 0.75, 0.9, 0.95, 0.99)(
                    assumeNotNull(duration_us), toUInt64(round(weight * 1000000)), is_measured
                ) AS durations
            FROM requests
            WHERE (/* began_within.sql */)
            /* conditions */
            GROUP BY
                started_s/* by keys */
        )
    )
)
GROUP BY
    started_s,
    drawn_values,
    is_others
ORDER BY
    is_others,
    by_values,
    started_s
LIMIT {limit:UInt32}
