-- One row is five minutes of requests that are alike in seven ways: what the rows of requests say, whoever wrote them and
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
    count() AS requests,
    countIf((/* measured_request.sql */)) AS measured,
    countIf(coverage != 'none') AS traced,
    countIf(complete AND (/* failed_request.sql */)) AS failed,
    toFloat64(sum(toDecimal64(weight, 6))) AS stands_for,
    sumMapIf(
        map(toUInt16(floor(log(greatest(ifNull(duration_us, 1), 1)) / log(1.02))), toUInt64(1)),
        (/* measured_request.sql */)
    ) AS duration_histogram
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
    app_version
ORDER BY
    bucket_at,
    carrier,
    region,
    city,
    pop,
    protocol,
    network_type,
    app_version
SETTINGS do_not_merge_across_partitions_select_final = 1
