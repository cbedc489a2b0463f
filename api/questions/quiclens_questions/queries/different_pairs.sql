-- One row is one pair of conditions of different attributes, and for how many of the chosen requests both hold.
SELECT
    first,
    second,
    count() AS s
FROM
(
    SELECT
        arrayJoin(held) AS first,
        arrayJoin(arrayFilter(other -> other > first AND {attributes:Array(UInt16)}[other] != {attributes:Array(UInt16)}[first], held)) AS second
    FROM
    (
        SELECT arrayFilter((place, holds) -> holds, arrayEnumerate({attributes:Array(UInt16)}), [/* held */]) AS held
        FROM (/* population */)
        WHERE is_chosen
    )
)
GROUP BY
    first,
    second
HAVING s >= {fewest:UInt64}
ORDER BY
    s DESC,
    first,
    second
LIMIT {limit:UInt32}
