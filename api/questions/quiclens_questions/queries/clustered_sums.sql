-- One row is one group of samples: sums over its clusters, of all samples (n is their weight in one cluster) and, for each
-- cut of the group, of those up to it (a). The last three are each divided by 1 - n / weight, what a cluster leaves to
-- others, as the first terms of its series.
SELECT
    cityHash64(toString(/* key */)) AS key_id,
    count() AS clusters,
    sum(samples_of) AS samples,
    sum(n) AS weight,
    sum(squares_of) AS squares,
    sum(n * n) AS cluster_squares,
    [/* each cut: sum(a_{cut}) */] AS hits,
    [/* each cut: sum(s_{cut}) */] AS hit_squares,
    [/* each cut: sum(a_{cut} * a_{cut}) + sum(a_{cut} * a_{cut} * n) / weight + sum(a_{cut} * a_{cut} * n * n) / pow(weight, 2) */] AS aa,
    [/* each cut: sum(a_{cut} * n) + sum(a_{cut} * n * n) / weight + sum(a_{cut} * n * n * n) / pow(weight, 2) */] AS an,
    cluster_squares + sum(n * n * n) / weight + sum(n * n * n * n) / pow(weight, 2) AS nn
FROM
(
    SELECT
        /* keys */,
        cluster_id,
        sum(number) AS samples_of,
        sum(weight * number) AS n,
        sum(weight * weight * number) AS squares_of,
        /* each cut: sumIf(weight * number, value <= cut_{cut}) AS a_{cut} */,
        /* each cut: sumIf(weight * weight * number, value <= cut_{cut}) AS s_{cut} */
    FROM
    (
        SELECT
            /* keys */,
            cityHash64(sample_cluster) AS cluster_id,
            toFloat64(weight) AS weight,
            number,
            value
        FROM
        (
            /* samples */
        )
        WHERE weight > 0
    ) AS each
    INNER JOIN
    (
        SELECT
            /* given keys */,
            /* each cut: of_key.2[{cut}] AS cut_{cut} */
        FROM (SELECT arrayJoin(arrayZip({keys:Array(Array(Nullable(String)))}, {cuts:Array(Array(Float64))})) AS of_key)
    ) AS given ON /* same keys */
    GROUP BY
        /* keys */,
        cluster_id
)
GROUP BY /* keys */
LIMIT {limit:UInt32}
