-- One row is one group of samples: its quantiles, and how unevenly the samples up to each of them fall on the draws
-- (a = those of one draw, n = all of one draw).
SELECT
    toString(key) AS key_text,
    key,
    length(draws_of) AS draws,
    length(sorted) AS samples,
    arrayMap(quantile -> sorted[toUInt64(greatest(1, ceil(round(quantile * samples, 6))))], {quantiles:Array(Float64)}) AS cuts,
    arrayMap(cut -> arrayMap(each -> toFloat64(arrayCount(value -> value <= cut, each)), draws_of), cuts) AS below,
    arrayMap(of_draws -> arraySum(of_draws), below) AS sum_a,
    arrayMap(of_draws -> arraySum(a -> a * a, of_draws), below) AS sum_aa,
    arrayMap(of_draws -> arraySum((a, each) -> a * length(each), of_draws, draws_of), below) AS sum_an,
    arraySum(each -> toFloat64(length(each) * length(each)), draws_of) AS sum_nn
FROM
(
    SELECT
        key,
        groupArray(of_draw) AS draws_of,
        arraySort(arrayFlatten(draws_of)) AS sorted
    FROM
    (
        SELECT
            key,
            groupArray(value) AS of_draw
        FROM
        (
            /* samples */
        )
        GROUP BY
            key,
            draw
        LIMIT 1000000000000
    )
    GROUP BY key
    LIMIT {limit:UInt32}
)
LIMIT {limit:UInt32}
