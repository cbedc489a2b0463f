-- One row is five minutes of requests that are alike in eight ways: what the rows of requests say, whoever wrote them and
-- in whatever order. Weights are added as decimals, because sums of floats depend on the order.
INSERT INTO {rollups:Identifier}
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
    toFloat64(sum(toDecimal64(weight, 6))) AS stands_for,
    mapApply(
        (bucket, weights) -> (bucket, toFloat64(weights)),
        sumMapIf(
            map(toUInt16(floor(log(greatest(ifNull(duration_us, 1), 1)) / log(1.02))), toDecimal64(weight, 6)),
            (/* measured_request.sql */)
        )
    ) AS duration_histogram,
    toFloat64(sum(toDecimal128(weight * weight, 6))) AS weight_squares,
    toFloat64(sumIf(toDecimal128(weight * weight, 6), (/* measured_request.sql */))) AS measured_weight_squares,
    toFloat64(sumIf(toDecimal64(weight, 6), complete)) AS ended_weight,
    toFloat64(sumIf(toDecimal128(weight * weight, 6), complete)) AS ended_weight_squares,
    toFloat64(sumIf(toDecimal64(weight, 6), complete AND (/* failed_request.sql */))) AS failed_weight,
    toFloat64(sumIf(toDecimal64(trace_weight, 6), complete)) AS parts_weight,
    toFloat64(sumIf(toDecimal128(trace_weight * trace_weight, 6), complete)) AS parts_weight_squares,
    toFloat64(sumIf(toDecimal64(trace_weight, 6), complete AND handshake_us > 0)) AS handshake_weight,
    toFloat64(sumIf(toDecimal64(trace_weight, 6), complete AND ifNull(packets_lost > 0, 0))) AS loss_weight,
    toFloat64(sumIf(toDecimal64(trace_weight, 6), complete AND loss_recovery_us + pto_us > 0)) AS retransmission_weight
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
