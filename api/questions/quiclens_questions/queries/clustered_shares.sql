-- One row is one group of samples: sums over its clusters, of all that is counted (n is its weight in one cluster), and of
-- what of it counts (a). The last three are each divided by 1 - n / weight, what a cluster leaves to others, as the first
-- terms of its series.
SELECT
    /* key */ AS key,
    count() AS clusters,
    sum(samples_of) AS samples,
    sum(counted_of) AS counted,
    sum(n) AS weight,
    sum(squares_of) AS squares,
    sum(n * n) AS cluster_squares,
    sum(a) AS hits,
    sum(squares_hit) AS hit_squares,
    sum(a * a) + sum(a * a * n) / weight + sum(a * a * n * n) / pow(weight, 2) AS aa,
    sum(a * n) + sum(a * n * n) / weight + sum(a * n * n * n) / pow(weight, 2) AS an,
    cluster_squares + sum(n * n * n) / weight + sum(n * n * n * n) / pow(weight, 2) AS nn
FROM
(
    SELECT
        /* keys */,
        cityHash64(sample_cluster) AS cluster_id,
        sum(toUInt64(number)) AS samples_of,
        sum(toUInt64(hits)) AS counted_of,
        sum(each.weight * number) AS n,
        sum(each.weight * each.weight * number) AS squares_of,
        sum(each.weight * hits) AS a,
        sum(each.weight * each.weight * hits) AS squares_hit
    FROM
    (
        /* samples */
    ) AS each
    WHERE each.weight > 0 AND number > 0
    GROUP BY
        /* keys */,
        cluster_id
)
GROUP BY /* keys */
ORDER BY
    weight DESC,
    toString(key)
LIMIT {limit:UInt32}
