-- One row is one group of requests: how many there are, how many have a trace, and how many are measured: those that
-- ended as they should and whose duration is known; and what all groups have together. With a cause to leave out, only
-- those whose trace could have shown it.
SELECT
    *,
    cityHash64(toString(by_values)) AS key_id,
    count() OVER () AS groups,
    sum(measured) OVER () AS all_measured,
    sum(with_saving) OVER () AS all_with_saving,
    sum(cannot_show_it) OVER () AS all_cannot_show_it
FROM
(
    SELECT
        CAST([/* by */] AS Array(Nullable(String))) AS by_values,
        count() AS requests,
        countIf(coverage != 'none') AS traced,
        countIf({without:String} != '' AND coverage != 'none' AND has(cannot_show, {without:String})) AS cannot_show_it,
        countIf(
            (/* ingest/measured_request.sql */)
            AND ({without:String} = '' OR (coverage != 'none' AND NOT has(cannot_show, {without:String})))
        ) AS measured,
        countIf(
            (/* ingest/measured_request.sql */) AND coverage != 'none' AND NOT has(cannot_show, {without:String})
            AND saves[{without:String}] > 0
        ) AS with_saving
    FROM requests
    WHERE (/* in_window.sql */)
    /* conditions */
    GROUP BY by_values
)
ORDER BY
    requests DESC,
    toString(by_values)
LIMIT {limit:UInt32}
