-- One row is one group of samples: sums over its clusters, of all samples (n is their weight in one cluster) and, for each
-- cut of the group, of those up to it (a). The last three are each divided by what a cluster leaves to others.
SELECT
    key_id,
    length(all_n) AS clusters,
    samples,
    weight,
    squares,
    arraySum(n -> n * n, all_n) AS cluster_squares,
    hits,
    hit_squares,
    arrayMap(n -> 1 / greatest(1e-9, 1 - n / weight), all_n) AS left,
    arrayMap(cut -> arraySum((a, each) -> a[cut] * a[cut] * each, all_a, left), arrayEnumerate(hits)) AS aa,
    arrayMap(cut -> arraySum((a, n, each) -> a[cut] * n * each, all_a, all_n, left), arrayEnumerate(hits)) AS an,
    arraySum((n, each) -> n * n * each, all_n, left) AS nn
FROM
(
    SELECT
        key_id,
        sum(samples_of) AS samples,
        sum(n) AS weight,
        sum(squares_of) AS squares,
        sumForEach(a) AS hits,
        sumForEach(squares_upto) AS hit_squares,
        groupArray(n) AS all_n,
        groupArray(a) AS all_a
    FROM
    (
        SELECT
            each.key_id AS key_id,
            each.cluster_id AS cluster_id,
            sum(each.number) AS samples_of,
            sum(each.weight * each.number) AS n,
            sum(each.weight * each.weight * each.number) AS squares_of,
            sumForEach(arrayMap(cut -> if(each.value <= cut, each.weight * each.number, 0), given.cuts)) AS a,
            sumForEach(arrayMap(cut -> if(each.value <= cut, each.weight * each.weight * each.number, 0), given.cuts)) AS squares_upto
        FROM
        (
            SELECT
                cityHash64(toString(key)) AS key_id,
                cityHash64(sample_cluster) AS cluster_id,
                toFloat64(weight) AS weight,
                number,
                toFloat64(value) AS value
            FROM
            (
                /* samples */
            )
            WHERE weight > 0
        ) AS each
        INNER JOIN
        (
            SELECT
                of_key.1 AS key_id,
                of_key.2 AS cuts
            FROM (SELECT arrayJoin(arrayZip({keys:Array(UInt64)}, {cuts:Array(Array(Float64))})) AS of_key)
        ) AS given ON given.key_id = each.key_id
        GROUP BY
            key_id,
            cluster_id
    )
    GROUP BY key_id
)
LIMIT {limit:UInt32}
