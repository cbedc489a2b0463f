-- One row is one group of samples: sums over its clusters, of all that is counted (n is its weight in one cluster), and of
-- what of it counts (a). The last three are each divided by what a cluster leaves to others.
SELECT
    key,
    length(all_n) AS clusters,
    samples,
    whole AS weight,
    squares,
    arraySum(n -> n * n, all_n) AS cluster_squares,
    hits,
    hit_squares,
    counted,
    arrayMap(n -> 1 / greatest(1e-9, 1 - n / whole), all_n) AS left,
    arraySum((a, each) -> a * a * each, all_a, left) AS aa,
    arraySum((a, n, each) -> a * n * each, all_a, all_n, left) AS an,
    arraySum((n, each) -> n * n * each, all_n, left) AS nn
FROM
(
    SELECT
        any(of_cluster.key) AS key,
        sum(samples_of) AS samples,
        sum(counted_of) AS counted,
        sum(n) AS whole,
        sum(squares_of) AS squares,
        sum(a) AS hits,
        sum(squares_hit) AS hit_squares,
        groupArray(n) AS all_n,
        groupArray(a) AS all_a
    FROM
    (
        SELECT
            cityHash64(toString(each.key)) AS key_id,
            cityHash64(each.sample_cluster) AS cluster_id,
            any(each.key) AS key,
            sum(toUInt64(each.number)) AS samples_of,
            sum(toUInt64(each.hits)) AS counted_of,
            sum(each.weight * each.number) AS n,
            sum(each.weight * each.weight * each.number) AS squares_of,
            sum(each.weight * each.hits) AS a,
            sum(each.weight * each.weight * each.hits) AS squares_hit
        FROM
        (
            /* samples */
        ) AS each
        WHERE each.weight > 0 AND each.number > 0
        GROUP BY
            key_id,
            cluster_id
    ) AS of_cluster
    GROUP BY key_id
)
ORDER BY
    weight DESC,
    toString(key)
LIMIT {limit:UInt32}
