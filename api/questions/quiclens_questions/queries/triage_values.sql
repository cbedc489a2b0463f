-- One row is one value of one attribute, or a pair of them, of which enough requests are in the window. Those come first that
-- became worse most at the beginning of a segment, in one of the measures: `gain` is Pearson's chi-square of the share after it
-- against that before, of few with a variance of 1 at least. Requests with weights are as many as they are worth.
SELECT
    place,
    values,
    count() OVER () AS groups,
    arrayMax(arrayFlatten(arrayMap(
        (hits, of, worth) -> arrayMap(
            at -> if(
                (arraySum(arraySlice(of, 1, at)) AS of_before) > 0
                    AND (arraySum(arraySlice(of, at + 1)) AS of_after) > 0
                    AND (arraySum(arraySlice(hits, at + 1)) AS hits_after) / of_after > (arraySum(arraySlice(hits, 1, at)) AS hits_before) / of_before,
                pow(worth * (hits_after - of_after * (hits_before + hits_after) / (of_before + of_after)), 2)
                    / greatest(1, worth * of_after * of_before / (of_before + of_after) * (hits_before + hits_after) / (of_before + of_after)),
                0
            ),
            range(1, length(of))
        ),
        hits_of_measures,
        of_measures,
        arrayMap((n, nn) -> if(nn > 0, n / nn, 0), sums, sums_of_squares)
    ))) AS gain
FROM
(
    SELECT
        place,
        values,
        sums,
        sums_of_squares,
        arrayMap(
            measure -> arrayMap(at -> arraySum((segment, k) -> if(segment = at, k[measure], 0), segments, hits), range({segments:UInt8})),
            arrayEnumerate(sums)
        ) AS hits_of_measures,
        arrayMap(
            measure -> arrayMap(at -> arraySum((segment, n) -> if(segment = at, n[measure], 0), segments, of), range({segments:UInt8})),
            arrayEnumerate(sums)
        ) AS of_measures
    FROM
    (
        SELECT
            place,
            arrayMap(at -> texts[at], names) AS values,
            groupArray(segment) AS segments,
            groupArray(k) AS hits,
            groupArray(n) AS of,
            sumForEach(n) AS sums,
            sumForEach(nn) AS sums_of_squares
        FROM
        (
            SELECT
                indexOf([/* masks */], toUInt64(GROUPING(/* columns */))) AS place,
                [/* members */][place] AS names,
                [/* texts */] AS texts,
                segment,
                [/* hits */] AS k,
                [/* of */] AS n,
                [/* squares */] AS nn
            FROM (/* requests */)
            GROUP BY GROUPING SETS (/* sets */)
        )
        WHERE arrayAll(at -> texts[at] IS NOT NULL, names)
        GROUP BY
            place,
            values
        HAVING arrayMax(sumForEachIf(n, segment > 0)) >= {fewest:UInt32}
    )
)
ORDER BY
    gain DESC,
    place,
    values
LIMIT {limit:UInt32}
