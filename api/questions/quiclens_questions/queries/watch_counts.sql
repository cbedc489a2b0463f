-- One row is one cell: its requests in the window and before it, and of each test how many there are and how many count.
-- A cell with too few requests in the window is pooled with its likes, by one column less at a time; what even the
-- first column alone does not make enough of is the cell without a name. Included by watch.sql.
--
-- Tests, in this order: requests slower than each of `edges`; that failed; that waited for a handshake; that went over
-- something else than QUIC; that lost a packet; that waited for a retransmission. An edge is the end of the bucket in
-- which the slowest share of `levels` before the window begins. Requests count by their weights, scaled so that all of
-- them make the effective sample size (Kish, "Survey Sampling", 11.7). `scatter` is how unevenly those that count fell
-- on up to 48 stretches as long as the window, spread evenly over the baseline, and `scatter_alone` how unevenly they
-- would have, had each request been on its own.
WITH
    toStartOfFiveMinutes(toTimeZone({until:DateTime('UTC')}, 'UTC')) AS ends_at,
    ends_at - toIntervalSecond({window_s:UInt32}) AS begins_at,
    begins_at - toIntervalSecond({baseline_s:UInt32}) AS before_at,
    greatest(1, intDiv({baseline_s:UInt32}, {window_s:UInt32})) AS stretches_all,
    greatest(1, intDiv(stretches_all, 48)) AS stride,
    least(48, stretches_all) AS stretches,
    {levels:Array(Float64)} AS levels,
    pools AS
    (
        SELECT DISTINCT arrayResize(cell, multiIf(depth > 0, depth, enough_3, shorter_3, 0)) AS pool
        FROM
        (
            SELECT
                cell,
                depth_2 AS depth,
                shorter_3,
                sumIf(samples, depth_2 = 0) OVER (PARTITION BY arrayResize(cell, shorter_3)) >= {samples_min:UInt64} AS enough_3
            FROM
            (
                SELECT
                    cell,
                    samples,
                    shorter_3,
                    sumIf(samples, depth_1 = 0) OVER (PARTITION BY arrayResize(cell, shorter_2)) >= {samples_min:UInt64} AS enough_2,
                    multiIf(depth_1 > 0, depth_1, enough_2, shorter_2, 0) AS depth_2
                FROM
                (
                    SELECT
                        cell,
                        samples,
                        shorter_2,
                        shorter_3,
                        sumIf(samples, depth_0 = 0) OVER (PARTITION BY arrayResize(cell, shorter_1)) >= {samples_min:UInt64} AS enough_1,
                        multiIf(depth_0 > 0, depth_0, enough_1, shorter_1, 0) AS depth_1
                    FROM
                    (
                        SELECT
                            arrayMap(value -> ifNull(value, ''), CAST([/* by */] AS Array(Nullable(String)))) AS cell,
                            sum(every.requests) AS samples,
                            if(samples >= {samples_min:UInt64}, toUInt8(length(cell)), 0) AS depth_0,
                            toUInt8(greatest(length(cell), 1) - 1) AS shorter_1,
                            toUInt8(greatest(length(cell), 2) - 2) AS shorter_2,
                            toUInt8(greatest(length(cell), 3) - 3) AS shorter_3
                        FROM request_rollups AS every
                        WHERE started_hour > begins_at - toIntervalHour(1)
                            AND started_hour < ends_at
                            AND bucket_at >= begins_at
                            AND bucket_at < ends_at
                        GROUP BY cell
                    )
                )
            )
        )
    ),
    rolled AS
    (
        SELECT
            *,
            arrayMap(value -> ifNull(value, ''), CAST([/* by */] AS Array(Nullable(String)))) AS cell,
            arrayFirst(
                each -> each IN pools,
                arrayMap(less -> arrayResize(cell, greatest(length(cell), less) - less), [0, 1, 2, 3])
            ) AS pool,
            bucket_at >= begins_at AS is_now,
            [
                ended_weight,
                parts_weight,
                if(isNotNull(protocol), weight, 0),
                parts_weight,
                parts_weight
            ] AS of_shares,
            [
                failed_weight,
                handshake_weight,
                if(ifNull(protocol != 'h3', 0), weight, 0),
                loss_weight,
                retransmission_weight
            ] AS hits_shares,
            [
                ended_weight_squares,
                parts_weight_squares,
                if(isNotNull(protocol), weight_squares, 0),
                parts_weight_squares,
                parts_weight_squares
            ] AS squares_shares
        FROM request_rollups
        WHERE started_hour > before_at - toIntervalHour(1)
            AND started_hour < ends_at
            AND bucket_at >= before_at
            AND bucket_at < ends_at
    ),
    sums AS
    (
        SELECT
            pool,
            uniqExactIf(cell, is_now) AS cells,
            sumIf(rolled.requests, is_now) AS requests,
            sumIf(rolled.traced, is_now) AS traced,
            toFloat64(sumIf(toDecimal64(rolled.weight, 6), is_now)) AS weight,
            sumMapIf(duration_histogram, is_now) AS histogram,
            sumMapIf(duration_histogram, NOT is_now) AS histogram_before,
            sumIf(measured_weight_squares, is_now) AS squares_measured,
            sumIf(measured_weight_squares, NOT is_now) AS squares_measured_before,
            arrayResize(sumForEachIf(of_shares, is_now), 5) AS of_now,
            arrayResize(sumForEachIf(of_shares, NOT is_now), 5) AS of_then,
            arrayResize(sumForEachIf(hits_shares, is_now), 5) AS hits_now,
            arrayResize(sumForEachIf(hits_shares, NOT is_now), 5) AS hits_then,
            arrayResize(sumForEachIf(squares_shares, is_now), 5) AS squares_now,
            arrayResize(sumForEachIf(squares_shares, NOT is_now), 5) AS squares_then,
            mapKeys(histogram_before) AS buckets_before,
            arrayReverse(arrayCumSum(arrayReverse(mapValues(histogram_before)))) AS at_least,
            arrayMap(
                level -> toUInt16(buckets_before[
                    greatest(1, arrayLastIndex(count -> count >= level * at_least[1], at_least))
                ]),
                levels
            ) AS edges
        FROM rolled
        GROUP BY pool
    ),
    scatters AS
    (
        SELECT
            pool,
            arrayMap(
                (k, n, kk, kn, nn) -> if(
                    n > 0,
                    greatest(0, kk - 2 * k / n * kn + k / n * k / n * nn) * stretches / greatest(1, stretches - 1),
                    0
                ),
                sumForEach(k),
                sumForEach(n),
                sumForEach(arrayMap(hits -> hits * hits, k)),
                sumForEach(arrayMap((hits, of) -> hits * of, k, n)),
                sumForEach(arrayMap(of -> of * of, n))
            ) AS scatter,
            arrayMap((k, n) -> if(n > 0, k * (1 - k / n), 0), sumForEach(k), sumForEach(n)) AS scatter_alone
        FROM
        (
            SELECT
                pool,
                arrayConcat(
                    arrayMap(
                        edge -> arraySum((bucket, count) -> if(bucket > edge, count, 0), mapKeys(durations), mapValues(durations)),
                        sums.edges
                    ),
                    hits
                ) AS k,
                arrayConcat(arrayMap(_ -> arraySum(mapValues(durations)), sums.edges), of) AS n
            FROM
            (
                SELECT
                    pool,
                    intDiv(begins_at - bucket_at - 1, {window_s:UInt32}) AS stretch,
                    sumMap(duration_histogram) AS durations,
                    sumForEach(hits_shares) AS hits,
                    sumForEach(of_shares) AS of
                FROM rolled
                WHERE NOT is_now
                    AND notEmpty(pool)
                    AND stretch % stride = 0
                    AND stretch < stride * stretches
                GROUP BY
                    pool,
                    stretch
            ) AS of_stretches
            INNER JOIN (SELECT pool, edges FROM sums) AS sums USING (pool)
        )
        GROUP BY pool
    )
SELECT
    pool,
    cells,
    requests,
    traced,
    weight,
    edges,
    mapKeys(histogram)[arrayFirstIndex(
        count -> count >= 0.99 * arraySum(mapValues(histogram)), arrayCumSum(mapValues(histogram))
    )] AS p99_bucket,
    buckets_before[arrayFirstIndex(
        count -> count >= 0.99 * arraySum(mapValues(histogram_before)), arrayCumSum(mapValues(histogram_before))
    )] AS p99_bucket_before,
    arrayConcat(arrayMap(_ -> arraySum(mapValues(histogram)), levels), of_now) AS of_raw,
    arrayConcat(arrayMap(_ -> arraySum(mapValues(histogram_before)), levels), of_then) AS of_raw_before,
    arrayMap(
        (of, squares) -> if(squares > 0, of / squares, 0),
        of_raw,
        arrayConcat(arrayMap(_ -> squares_measured, levels), squares_now)
    ) AS scale,
    arrayMap(
        (of, squares) -> if(squares > 0, of / squares, 0),
        of_raw_before,
        arrayConcat(arrayMap(_ -> squares_measured_before, levels), squares_then)
    ) AS scale_before,
    arrayMap((of, by) -> of * by, of_raw, scale) AS of,
    arrayMap((of, by) -> of * by, of_raw_before, scale_before) AS of_before,
    arrayMap(
        (hits, by) -> hits * by,
        arrayConcat(
            arrayMap(
                edge -> arraySum((bucket, count) -> if(bucket > edge, count, 0), mapKeys(histogram), mapValues(histogram)),
                edges
            ),
            hits_now
        ),
        scale
    ) AS hits,
    arrayMap(
        (hits, by) -> hits * by,
        arrayConcat(
            arrayMap(
                edge -> arraySum((bucket, count) -> if(bucket > edge, count, 0), buckets_before, mapValues(histogram_before)),
                edges
            ),
            hits_then
        ),
        scale_before
    ) AS hits_before,
    arrayMap((squares, by) -> squares * by * by, arrayResize(scatters.scatter, length(levels) + 5), scale_before) AS scatter,
    arrayMap((squares, by) -> squares * by, arrayResize(scatters.scatter_alone, length(levels) + 5), scale_before) AS scatter_alone,
    stretches
FROM sums
LEFT JOIN scatters USING (pool)
