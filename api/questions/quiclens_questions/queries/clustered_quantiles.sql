-- One row is one group of samples: how many there are, their weight, how many groups and samples there are in all, for each
-- level the least value up to which at least such a share of the weight lies (a cut), and what the ends of its interval are
-- made of.
-- `known_values` are some of the group's values, least first, and `known_places` where each lies: which share of the weight
-- is below the middle of the sample. They are so dense that about four lie within a standard error of a share of
-- independent samples, which is the same everywhere for asin(sqrt(share)), but no more than 500 steps in all; of those closer
-- together, the first and the last.
-- The rest are sums over its clusters, of all samples (n is their weight in one cluster) and, for each cut, of those up to
-- it (a). The last three are each divided by 1 - n / weight, what a cluster leaves to others, as the first terms of its series.
SELECT
    key,
    samples,
    weight,
    count() OVER () AS groups,
    sum(samples) OVER () AS all_samples,
    cuts,
    arrayMap(rank -> sorted[rank], ranks) AS known_values,
    arrayMap(rank -> if(is_even, (rank - 0.5) / length(sorted), middles[rank]), ranks) AS known_places,
    clusters,
    squares,
    cluster_squares,
    [/* each cut: arraySum(a_{cut}) */] AS hits,
    [/* each cut: arraySum(arrayMap((value, one, number) -> if(value <= cut_{cut}, one * one * number, 0), values, weights, numbers)) */] AS hit_squares,
    [/* each cut: arraySum(arrayMap((a, left) -> a * a * left, a_{cut}, lefts)) */] AS aa,
    [/* each cut: arraySum(arrayMap((a, n, left) -> a * n * left, a_{cut}, ns, lefts)) */] AS an,
    arraySum(arrayMap((n, left) -> n * n * left, ns, lefts)) AS nn
FROM
(
    SELECT
        *,
        arrayMap(n -> 1 + n / weight + pow(n / weight, 2), ns) AS lefts,
        /* each cut: arrayReduceInRanges('sum', ranges, arrayMap((value, own) -> if(value <= cut_{cut}, own, 0), values, owns)) AS a_{cut} */
    FROM
    (
        SELECT
            *,
            if(
                is_even,
                arrayDistinct(arrayMap(step -> toUInt64(greatest(1, ceil(pow(sin(step * pi() / 2 / steps), 2) * length(sorted) - 1e-6))), range(toUInt64(steps) + 1))),
                arrayFilter((rank, cell, before, after) -> cell != before OR cell != after, arrayEnumerate(sorted), cells, arrayPushFront(arrayPopBack(cells), -1), arrayPushBack(arrayPopFront(cells), -1))
            ) AS ranks
        FROM
        (
            SELECT
                *,
                if(
                    is_even,
                    arrayMap(level -> sorted[toUInt64(greatest(1, ceil(level * length(sorted) - 1e-6)))], {levels:Array(Float64)}),
                    arrayMap(level -> sorted[arrayFirstIndex(upto -> upto >= level * weight * (1 - 1e-12), sums)], {levels:Array(Float64)})
                ) AS cuts,
                /* each cut: cuts[{cut}] AS cut_{cut} */,
                arrayMap((upto, own) -> least(1, (upto - own / 2) / weight), sums, sorted_owns) AS middles,
                least(500, ceil(2 * pi() * weight / sqrt(squares))) AS steps,
                arrayMap(middle -> floor(asin(sqrt(middle)) / (pi() / 2) * steps), middles) AS cells
            FROM
            (
                SELECT
                    *,
                    arrayMap((one, number) -> one * number, weights, numbers) AS owns,
                    arrayMin(owns) = arrayMax(owns) AS is_even,
                    arraySort(values) AS sorted,
                    if(is_even, [], arraySort((own, value) -> value, owns, values)) AS sorted_owns,
                    arrayCumSum(sorted_owns) AS sums
                FROM
                (
                    SELECT
                        /* key */ AS key,
                        cityHash64(toString(key)) AS key_id,
                        count() AS clusters,
                        sum(samples_of) AS samples,
                        sum(n) AS weight,
                        sum(squares_of) AS squares,
                        sum(n * n) AS cluster_squares,
                        groupArray(n) AS ns,
                        groupArray(length(values_of)) AS lengths,
                        arrayZip(arrayMap((upto, length) -> upto - length + 1, arrayCumSum(lengths), lengths), lengths) AS ranges,
                        groupArrayArray(values_of) AS values,
                        groupArrayArray(weights_of) AS weights,
                        groupArrayArray(numbers_of) AS numbers
                    FROM
                    (
                        SELECT
                            /* keys */,
                            cityHash64(sample_cluster) AS cluster_id,
                            sum(number) AS samples_of,
                            sum(toFloat64(weight) * number) AS n,
                            sum(toFloat64(weight) * weight * number) AS squares_of,
                            groupArray(toFloat64(value)) AS values_of,
                            groupArray(toFloat64(weight)) AS weights_of,
                            groupArray(number) AS numbers_of
                        FROM
                        (
                            /* samples */
                        )
                        WHERE weight > 0 AND number > 0
                        GROUP BY
                            /* keys */,
                            cluster_id
                    )
                    GROUP BY /* keys */
                )
                WHERE empty({keys:Array(UInt64)}) OR key_id IN (SELECT arrayJoin({keys:Array(UInt64)}))
            )
        )
    )
)
ORDER BY
    weight DESC,
    toString(key)
LIMIT {limit:UInt32}
