-- One row is one cause that could be taken away: the p99 of the traced requests whose log could have shown it, and what
-- it would be if each took less by its predicted saving. As `report tail --without`, null below 100 requests.
SELECT
    without,
    sum(can_show) AS measured,
    sum(can_show AND saving > 0) AS with_saving,
    count() - measured AS cannot_show,
    if(measured >= 100, quantileExactWeightedIf(0.99)(duration, trace_millionths, can_show), NULL) AS p99,
    if(measured >= 100, quantileExactWeightedIf(0.99)(duration - least(duration, saving), trace_millionths, can_show), NULL) AS without_p99,
    p99 - without_p99 AS saved_p99
FROM
(
    SELECT
        arrayJoin([/* removable causes */]) AS without,
        assumeNotNull(duration_us) AS duration,
        saves[without] AS saving,
        trace_millionths,
        coverage != 'none' AND NOT has(r.cannot_show, without) AS can_show
    FROM (/* requests.sql */) AS r
    WHERE is_measured
)
GROUP BY without
ORDER BY
    saved_p99 DESC NULLS LAST,
    with_saving DESC,
    without
LIMIT 20
