-- One row is one value of the chosen column: its slow requests, and the cause that took most of their time.
SELECT
    ifNull(toString(${by:raw}), 'unknown') AS by_value,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    traced / requests AS traced_share,
    topKWeighted(1)(assumeNotNull(top_cause), toUInt64(round(trace_weight * ifNull(top_cause_us, 0))))[1] AS top_cause,
    max(duration_us) AS slowest_us,
    count() OVER () AS rows_in_all
FROM (/* why_slow/slow_requests.sql */)
GROUP BY by_value
ORDER BY
    requests DESC,
    by_value
LIMIT 50
