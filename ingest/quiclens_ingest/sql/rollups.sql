-- One row is five minutes of requests that are alike in eight ways: what the rows of requests say, whoever wrote them and
-- in whatever order. Weights are added as decimals, because sums of floats depend on the order. One above 1,000,000 is of a
-- chance that is unknown now.
INSERT INTO {rollups:Identifier}
WITH
    if(weight BETWEEN 0 AND 1000000, weight, 1) AS known_weight,
    toDecimal64(known_weight, 6) AS of_request,
    toDecimal128(known_weight * known_weight, 6) AS of_request_squared,
    if(trace_weight BETWEEN 0 AND 1000000, trace_weight, 1) AS known_trace_weight,
    toDecimal64(known_trace_weight, 6) AS of_trace,
    toDecimal128(known_trace_weight * known_trace_weight, 6) AS of_trace_squared
SELECT
    started_hour,
    toStartOfFiveMinutes(ifNull(started_at, toDateTime64(0, 6, 'UTC'))) AS bucket_at,
    carrier,
    region,
    city,
    pop,
    protocol,
    network_type,
    app_version,
    server_release,
    count() AS requests,
    countIf((/* measured_request.sql */)) AS measured,
    countIf(coverage != 'none') AS traced,
    countIf(complete AND (/* failed_request.sql */)) AS failed,
    toFloat64(sum(of_request)) AS stands_for,
    mapApply(
        (bucket, weights) -> (bucket, toFloat64(weights)),
        sumMapIf(
            map(toUInt16(floor(log(greatest(ifNull(duration_us, 1), 1)) / log(1.02))), of_request),
            (/* measured_request.sql */)
        )
    ) AS duration_histogram,
    toFloat64(sum(of_request_squared)) AS weight_squares,
    toFloat64(sumIf(of_request_squared, (/* measured_request.sql */))) AS measured_weight_squares,
    toFloat64(sumIf(of_request, complete)) AS ended_weight,
    toFloat64(sumIf(of_request_squared, complete)) AS ended_weight_squares,
    toFloat64(sumIf(of_request, complete AND (/* failed_request.sql */))) AS failed_weight,
    toFloat64(sumIf(of_trace, complete)) AS parts_weight,
    toFloat64(sumIf(of_trace_squared, complete)) AS parts_weight_squares,
    toFloat64(sumIf(of_trace, complete AND handshake_us > 0)) AS handshake_weight,
    toFloat64(sumIf(of_trace, complete AND ifNull(packets_lost > 0, 0))) AS loss_weight,
    toFloat64(sumIf(of_trace, complete AND loss_recovery_us + pto_us > 0)) AS retransmission_weight
FROM requests
WHERE started_hour IN {hours:Array(DateTime('UTC'))} AND bucket_at IN {buckets:Array(DateTime('UTC'))}
GROUP BY
    started_hour,
    bucket_at,
    carrier,
    region,
    city,
    pop,
    protocol,
    network_type,
    app_version,
    server_release
ORDER BY
    bucket_at,
    carrier,
    region,
    city,
    pop,
    protocol,
    network_type,
    app_version,
    server_release
SETTINGS do_not_merge_across_partitions_select_final = 1
