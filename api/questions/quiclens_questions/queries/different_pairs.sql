-- One row is one pair of conditions of different attributes, by their places, and for how many requests both hold: of the
-- chosen ones, or of a sample of all. A request's pairs are counted as one number each.
SELECT
    bitShiftRight(pair, 16) AS first,
    bitAnd(pair, 65535) AS second,
    count() AS s
FROM
(
    SELECT arrayJoin(arrayFlatten(arrayMap((first, at) -> arrayMap(second -> toUInt32(first) * 65536 + second, arraySlice(held, at + 1)), held, arrayEnumerate(held)))) AS pair
    FROM
    (
        SELECT arrayFilter(place -> place > 0, [/* held */]) AS held
        FROM
        (
            SELECT /* columns */
            FROM (/* population */)
            WHERE /* which */
        )
    )
)
WHERE {attributes:Array(UInt16)}[first] != {attributes:Array(UInt16)}[second]
GROUP BY pair
HAVING s >= {fewest:UInt64}
ORDER BY
    s DESC,
    first,
    second
LIMIT {limit:UInt32}
