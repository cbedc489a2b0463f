-- One row is one group of samples: how many there are, their weight, how many groups and samples there are in all, for each
-- level the least value up to which at least such a share of the weight lies (a cut), and what the ends of its interval are
-- made of.
-- `known_values` are some of the group's values, least first, and `known_places` where each lies: which share of the weight
-- is below the middle of the sample. They are so dense that about four lie within a standard error of a share of
-- independent samples, which is the same everywhere for asin(sqrt(share)), but no more than 500 steps in all; of those closer
-- together, the first and the last.
-- The rest are sums over its clusters, of all samples (n is their weight in one cluster) and, for each cut, of those up to
-- it (a). `aa`, `an` and `nn` are each divided by 1 - n / weight, what a cluster leaves to others, as the first terms of its
-- series. Samples may have `counts`, to be summed up, and say what a share is of (`counted`, of which `hits`, with
-- `counted_weight`): its sums over samples and over clusters are `share_sums` and `share_clusters`. Groups are in order of what
-- is counted first, or else of their weight.
SELECT
    /* key */ AS key,
    samples,
    weight,
    count() OVER () AS groups,
    sum(samples) OVER () AS all_samples,
    cuts,
    known_values,
    known_places,
    clusters,
    squares,
    cluster_squares,
    hits,
    hit_squares,
    aa,
    an,
    nn
    /* if counts */
    , counts,
    sumForEach(counts) OVER () AS all_counts
    /* end */
    /* if shares */
    , share_sums,
    share_clusters
    /* end */
FROM
/* if counts */
(
    SELECT
        /* keys */,
        sumForEach(each.counts) AS counts
    FROM
    (
        /* samples */
    ) AS each
    GROUP BY /* keys */
) AS summed
LEFT JOIN
/* end */
(
    SELECT
        /* keys */,
        samples,
        weight,
        cuts,
        arrayMap(rank -> sorted[rank], ranks) AS known_values,
        arrayMap(rank -> if(is_even, (rank - 0.5) / length(sorted), middles[rank]), ranks) AS known_places,
        /* if shares */
        share_sums,
        share_clusters,
        /* end */
        clusters,
        squares,
        cluster_squares,
        [/* each cut: arraySum(a_{cut}) */] AS hits,
        if(is_even, arrayMap(hit -> hit * squares / weight, hits), [/* each cut: arraySum(arrayMap((value, square) -> if(value <= cut_{cut}, square, 0), values, own_squares)) */]) AS hit_squares,
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
                    if(squares > 0, least(500, ceil(2 * pi() * weight / sqrt(squares))), 1) AS steps,
                    arrayMap(middle -> floor(asin(sqrt(middle)) / (pi() / 2) * steps), middles) AS cells
                FROM
                (
                    SELECT
                        *,
                        arraySort(values) AS sorted,
                        if(is_even, [], arraySort((own, value) -> value, owns, values)) AS sorted_owns,
                        arrayCumSum(sorted_owns) AS sums
                    FROM
                    (
                        SELECT
                            /* keys */,
                            countIf(n > 0) AS clusters,
                            sum(samples_of) AS samples,
                            sum(n) AS weight,
                            sum(squares_of) AS squares,
                            sum(n * n) AS cluster_squares,
                            minIf(least_of, n > 0) = maxIf(most_of, n > 0) AS is_even,
                            groupArrayIf(n, n > 0) AS ns,
                            groupArrayIf(length(values_of), n > 0) AS lengths,
                            arrayZip(arrayMap((upto, length) -> upto - length + 1, arrayCumSum(lengths), lengths), lengths) AS ranges,
                            groupArrayArray(values_of) AS values,
                            groupArrayArray(owns_of) AS owns,
                            groupArrayArray(squares_of_each) AS own_squares
                            /* if shares */
                            , [sum(share_counted), sum(share_hit), sum(share_n), sum(share_squares), sum(share_a), sum(share_hit_squares)] AS share_sums,
                            [
                                countIf(share_n > 0),
                                sum(share_n * share_n),
                                sum(share_a * share_a) + sum(share_a * share_a * share_n) / share_sums[3] + sum(share_a * share_a * share_n * share_n) / pow(share_sums[3], 2),
                                sum(share_a * share_n) + sum(share_a * share_n * share_n) / share_sums[3] + sum(share_a * share_n * share_n * share_n) / pow(share_sums[3], 2),
                                sum(share_n * share_n) + sum(share_n * share_n * share_n) / share_sums[3] + sum(share_n * share_n * share_n * share_n) / pow(share_sums[3], 2)
                            ] AS share_clusters
                            /* end */
                        FROM
                        (
                            SELECT
                                /* keys */,
                                cityHash64(sample_cluster) AS cluster_id,
                                sum(number) AS samples_of,
                                sum(own) AS n,
                                sum(square) AS squares_of,
                                minIf(own, own > 0) AS least_of,
                                maxIf(own, own > 0) AS most_of,
                                groupArrayIf(each_value, own > 0) AS values_of,
                                groupArrayIf(own, own > 0) AS owns_of,
                                groupArrayIf(square, own > 0) AS squares_of_each
                                /* if shares */
                                , sum(counted) AS share_counted,
                                sum(hits) AS share_hit,
                                sum(share_own) AS share_n,
                                sum(share_own * counted_weight) AS share_squares,
                                sum(counted_weight * hits) AS share_a,
                                sum(counted_weight * counted_weight * hits) AS share_hit_squares
                                /* end */
                            FROM
                            (
                                SELECT
                                    /* keys */,
                                    sample_cluster,
                                    number,
                                    toFloat64(each.value) AS each_value,
                                    toFloat64(each.weight) * number AS own,
                                    own * each.weight AS square
                                    /* if shares */
                                    , toFloat64(each.counted_weight) AS counted_weight,
                                    counted,
                                    hits,
                                    counted_weight * counted AS share_own
                                    /* end */
                                FROM
                                (
                                    /* samples */
                                ) AS each
                                WHERE own > 0 /* if shares */ OR share_own > 0 /* end */
                            )
                            GROUP BY
                                /* keys */,
                                cluster_id
                        )
                        GROUP BY /* keys */
                    )
                )
            )
        )
    )
) AS sampled
/* if counts */
USING (/* keys */)
/* end */
ORDER BY
    /* if counts */
    counts[1] DESC,
    /* end */
    weight DESC,
    toString(key)
LIMIT {limit:UInt32}
