-- One row is one group of samples: how many there are, their weight, how many groups and samples there are in all, and for
-- each level the least value up to which at least such a share of the weight lies (null for a level below 0). Levels are
-- those of the group, in the order of `keys`; where `levels` has one entry, it is for all groups.
SELECT
    key_id,
    key,
    samples,
    whole AS weight,
    count() OVER () AS groups,
    sum(samples) OVER () AS all_samples,
    if(length({levels:Array(Array(Float64))}) = 1, {levels:Array(Array(Float64))}[1], {levels:Array(Array(Float64))}[indexOf({keys:Array(UInt64)}, key_id)]) AS wanted,
    if(
        is_even,
        arrayMap(level -> if(level < 0, NULL, sorted[toUInt64(greatest(1, ceil(level * length(sorted) - 1e-6)))]), wanted),
        arrayMap(level -> if(level < 0, NULL, sorted[arrayFirstIndex(upto -> upto >= level * whole * (1 - 1e-12), summed)]), wanted)
    ) AS cuts
FROM
(
    SELECT
        /* key */ AS key,
        cityHash64(toString(key)) AS key_id,
        samples,
        whole,
        is_even,
        arraySort(values) AS sorted,
        if(is_even, [], arrayCumSum(arraySort((weight, value) -> value, weights, values))) AS summed
    FROM
    (
        SELECT
            /* keys */,
            sum(number) AS samples,
            sum(weight * number) AS whole,
            min(weight * number) = max(weight * number) AS is_even,
            groupArray(value) AS values,
            groupArray(weight * number) AS weights
        FROM
        (
            /* samples */
        )
        WHERE weight > 0
        GROUP BY /* keys */
    )
    WHERE empty({keys:Array(UInt64)}) OR key_id IN (SELECT arrayJoin({keys:Array(UInt64)}))
)
ORDER BY
    weight DESC,
    toString(key)
LIMIT {limit:UInt32}
