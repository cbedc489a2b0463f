-- One row is one hexagon with its requests: how many, their median and p95 (null where too few were measured), and the
-- cause that took most of their time. Of a hexagon with fewer than {thin:UInt32} measured requests they are counted in the
-- first larger one around it that has as many of such requests, up to three steps; where none has, in its own. What is no H3
-- cell has the name ''.
SELECT
    if(shown = 0, '', h3ToString(shown)) AS h3_cell,
    sum(each.requests) AS requests,
    sumIf(each.requests, shown != cell) AS in_larger,
    sum(each.traced) AS traced,
    sum(each.measured) AS measured,
    quantilesExactWeightedMerge(0.5, 0.95)(each.durations) AS quantiles,
    if(measured >= 4, toNullable(quantiles[1]), NULL) AS p50,
    if(measured >= {thin:UInt32}, toNullable(quantiles[2]), NULL) AS p95,
    arrayMap(us -> toUInt64(round(us)), sumForEach(each.cause_us)) AS cause_us
FROM
(
    SELECT
        *,
        multiIf(cell = 0 OR left_0 = 0, cell, within_1 >= {thin:UInt32}, around_1, within_2 >= {thin:UInt32}, around_2, within_3 >= {thin:UInt32}, around_3, cell) AS shown
    FROM
    (
        SELECT *, sum(if(within_2 >= {thin:UInt32}, 0, left_1)) OVER (PARTITION BY around_3) AS within_3
        FROM
        (
            SELECT *, if(within_1 >= {thin:UInt32}, 0, left_0) AS left_1, sum(left_1) OVER (PARTITION BY around_2) AS within_2
            FROM
            (
                SELECT
                    *,
                    if(cell = 0 OR measured >= {thin:UInt32}, 0, measured) AS left_0,
                    h3ToParent(cell_or_any, toUInt8(greatest(0, resolution - 1))) AS around_1,
                    h3ToParent(cell_or_any, toUInt8(greatest(0, resolution - 2))) AS around_2,
                    h3ToParent(cell_or_any, toUInt8(greatest(0, resolution - 3))) AS around_3,
                    sum(left_0) OVER (PARTITION BY around_1) AS within_1
                FROM
                (
                    SELECT
                        reinterpretAsUInt64(reverse(unhex(leftPad(toString(assumeNotNull(h3_cell)), 16, '0')))) AS read,
                        if(match(toString(assumeNotNull(h3_cell)), '^[0-9a-fA-F]{1,16}$') AND h3IsValid(read), read, 0) AS cell,
                        if(cell = 0, toUInt64(576495936675512319), cell) AS cell_or_any,
                        toInt16(h3GetResolution(cell_or_any)) AS resolution,
                        count() AS requests,
                        countIf(coverage != 'none') AS traced,
                        countIf((/* ingest/measured_request.sql */)) AS measured,
                        quantilesExactWeightedStateIf(0.5, 0.95)(duration_us, toUInt64(round(weight * 1000000)), (/* ingest/measured_request.sql */)) AS durations,
                        sumForEach(arrayMap(us -> us * trace_weight, [/* causes */])) AS cause_us
                    FROM requests
                    WHERE h3_cell IS NOT NULL
                        AND (/* in_window.sql */)
                        AND ({weekday:String} = '' OR formatDateTime(toTimeZone(started_at, {time_zone:String}), '%a') = {weekday:String})
                        AND ({hour:Int8} < 0 OR toHour(toTimeZone(started_at, {time_zone:String})) = {hour:Int8})
                    /* conditions */
                    GROUP BY read, cell, cell_or_any, resolution
                )
            )
        )
    )
) AS each
GROUP BY shown
ORDER BY
    shown = 0 DESC,
    requests DESC,
    h3_cell
LIMIT {limit:UInt32}
