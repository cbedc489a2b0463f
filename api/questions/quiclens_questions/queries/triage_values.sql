-- One row is one value of one attribute, or a pair of them, of which enough requests are in the window. Those come first that
-- became worse most at the beginning of a segment, in one of the shares (of measured ones slow, very slow, and extreme; of those that
-- ended failed): `gain` is Pearson's chi-square of the share after it against that before, of few
-- with a variance of 1 at least.
SELECT
    place,
    values,
    count() OVER () AS groups,
    arrayMax(arrayFlatten(arrayMap(
        (hits, of) -> arrayMap(
            at -> if(
                (arraySum(arraySlice(of, 1, at)) AS of_before) > 0
                    AND (arraySum(arraySlice(of, at + 1)) AS of_after) > 0
                    AND (arraySum(arraySlice(hits, at + 1)) AS hits_after) / of_after > (arraySum(arraySlice(hits, 1, at)) AS hits_before) / of_before,
                pow(hits_after - of_after * (hits_before + hits_after) / (of_before + of_after), 2)
                    / greatest(1, of_after * of_before / (of_before + of_after) * (hits_before + hits_after) / (of_before + of_after)),
                0
            ),
            range(1, length(of))
        ),
        [slow, very_slow, extreme, failed],
        [measured, measured, measured, ended]
    ))) AS gain
FROM
(
    SELECT
        place,
        values,
        arrayMap(at -> arraySum((segment, n) -> if(segment = at, n, 0), segments, counts.1), range({segments:UInt8})) AS measured,
        arrayMap(at -> arraySum((segment, n) -> if(segment = at, n, 0), segments, counts.2), range({segments:UInt8})) AS slow,
        arrayMap(at -> arraySum((segment, n) -> if(segment = at, n, 0), segments, counts.3), range({segments:UInt8})) AS very_slow,
        arrayMap(at -> arraySum((segment, n) -> if(segment = at, n, 0), segments, counts.6), range({segments:UInt8})) AS extreme,
        arrayMap(at -> arraySum((segment, n) -> if(segment = at, n, 0), segments, counts.4), range({segments:UInt8})) AS ended,
        arrayMap(at -> arraySum((segment, n) -> if(segment = at, n, 0), segments, counts.5), range({segments:UInt8})) AS failed
    FROM
    (
        SELECT
            place,
            arrayMap(at -> texts[at], names) AS values,
            groupArray(segment) AS segments,
            groupArray((toFloat64(n), toFloat64(k), toFloat64(kk), toFloat64(e), toFloat64(f), toFloat64(x))) AS counts
        FROM
        (
            SELECT
                indexOf([/* masks */], toUInt64(GROUPING(/* columns */))) AS place,
                [/* members */][place] AS names,
                [/* texts */] AS texts,
                segment,
                sumIf(stands_for, is_measured) AS n,
                countIf(is_slow) AS k,
                countIf(is_very_slow) AS kk,
                countIf(is_extreme) AS x,
                sumIf(stands_for, complete) AS e,
                countIf(is_failed) AS f
            FROM (/* triage_requests.sql */)
            GROUP BY GROUPING SETS (/* sets */)
        )
        WHERE arrayAll(at -> texts[at] IS NOT NULL, names)
        GROUP BY
            place,
            values
        HAVING sumIf(n + e, segment > 0) >= {fewest:UInt32}
    )
)
ORDER BY
    gain DESC,
    place,
    values
LIMIT {limit:UInt32}
