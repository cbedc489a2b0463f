-- One row is one cell: its requests in the window and before it, and how many of each took longer than 99 of 100 did
-- before. A cell with too few requests in the window is pooled with its likes, by one column less at a time; what even the
-- first column alone does not make enough of is the cell without a name. Written into another.
--
-- The threshold is the end of the bucket in which the rank-th slowest request before the window lies. `scatter` is how
-- unevenly those beyond it fell on up to twelve stretches as long as the window just before it, and `scatter_alone` how
-- unevenly they would have, had each request been on its own.
WITH
    toStartOfFiveMinutes(toTimeZone({until:DateTime('UTC')}, 'UTC')) AS ends_at,
    ends_at - toIntervalSecond({window_s:UInt32}) AS begins_at,
    begins_at - toIntervalSecond({baseline_s:UInt32}) AS before_at,
    least(12, intDiv({baseline_s:UInt32}, {window_s:UInt32})) AS stretches,
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
                            sum(measured) AS samples,
                            if(samples >= {samples_min:UInt64}, toUInt8(length(cell)), 0) AS depth_0,
                            toUInt8(greatest(length(cell), 1) - 1) AS shorter_1,
                            toUInt8(greatest(length(cell), 2) - 2) AS shorter_2,
                            toUInt8(greatest(length(cell), 3) - 3) AS shorter_3
                        FROM request_rollups
                        WHERE started_hour > begins_at - toIntervalHour(1)
                            AND started_hour < ends_at
                            AND bucket_at >= begins_at
                            AND bucket_at < ends_at
                        GROUP BY cell
                    )
                )
            )
        )
    )
SELECT
    pool,
    cells,
    requests,
    traced,
    weight,
    samples,
    samples_before,
    intDiv(samples_before + 99, 100) AS rank,
    arrayReverse(arrayCumSum(arrayReverse(mapValues(histogram_before)))) AS at_least,
    arrayLastIndex(count -> count >= rank, at_least) AS place,
    mapKeys(histogram_before)[place] AS bucket,
    at_least[place + 1] AS beyond_before,
    arraySum((key, count) -> if(key > bucket, count, 0), mapKeys(histogram), mapValues(histogram)) AS beyond,
    mapKeys(histogram)[
        arrayFirstIndex(count -> count >= samples - intDiv(samples, 100), arrayCumSum(mapValues(histogram)))
    ] AS p99_bucket,
    mapKeys(histogram_before)[
        arrayFirstIndex(
            count -> count >= samples_before - intDiv(samples_before, 100), arrayCumSum(mapValues(histogram_before))
        )
    ] AS p99_bucket_before,
    arrayMap(
        stretch -> arraySum((key, count) -> if(intDiv(key, 4096) = stretch, count, 0), mapKeys(lately), mapValues(lately)),
        range(stretches)
    ) AS samples_lately,
    arrayMap(
        stretch -> arraySum(
            (key, count) -> if(intDiv(key, 4096) = stretch AND key % 4096 > bucket, count, 0),
            mapKeys(lately),
            mapValues(lately)
        ),
        range(stretches)
    ) AS beyond_lately,
    arraySum(beyond_lately) / greatest(arraySum(samples_lately), 1) AS share_lately,
    if(
        stretches > 1,
        arraySum((slow, every) -> pow(slow - every * share_lately, 2), beyond_lately, samples_lately)
        * stretches / (stretches - 1),
        0
    ) AS scatter,
    arraySum(samples_lately) * share_lately * (1 - share_lately) AS scatter_alone
FROM
(
    SELECT
        multiIf(
            cell IN pools, cell,
            arrayResize(cell, greatest(length(cell), 1) - 1) IN pools, arrayResize(cell, greatest(length(cell), 1) - 1),
            arrayResize(cell, greatest(length(cell), 2) - 2) IN pools, arrayResize(cell, greatest(length(cell), 2) - 2),
            arrayResize(cell, greatest(length(cell), 3) - 3) IN pools, arrayResize(cell, greatest(length(cell), 3) - 3),
            []
        ) AS pool,
        uniqExactIf(cell, bucket_at >= begins_at) AS cells,
        sumIf(every.requests, bucket_at >= begins_at) AS requests,
        sumIf(every.traced, bucket_at >= begins_at) AS traced,
        toFloat64(sumIf(toDecimal64(every.weight, 6), bucket_at >= begins_at)) AS weight,
        sumIf(measured, bucket_at >= begins_at) AS samples,
        sumIf(measured, bucket_at < begins_at) AS samples_before,
        sumMapIf(duration_histogram, bucket_at >= begins_at) AS histogram,
        sumMapIf(duration_histogram, bucket_at < begins_at) AS histogram_before,
        sumMap(
            if(
                bucket_at < begins_at AND bucket_at >= begins_at - toIntervalSecond(stretches * {window_s:UInt32}),
                mapApply(
                    (key, count) -> (toUInt32(key + 4096 * intDiv(begins_at - bucket_at - 1, {window_s:UInt32})), count),
                    duration_histogram
                ),
                CAST(map(), 'Map(UInt32, UInt64)')
            )
        ) AS lately
    FROM
    (
        SELECT
            *,
            arrayMap(value -> ifNull(value, ''), CAST([/* by */] AS Array(Nullable(String)))) AS cell
        FROM request_rollups
        WHERE started_hour > before_at - toIntervalHour(1)
            AND started_hour < ends_at
            AND bucket_at >= before_at
            AND bucket_at < ends_at
    ) AS every
    GROUP BY pool
)
