-- One row is one value of the chosen column: each cause's share of the time of its slow, traced requests, most first.
SELECT
    ifNull(toString(${by:raw}), 'unknown') AS by_value,
    /* each cause: sum(trace_weight * {cause}_us) / sum(trace_weight * duration_us) AS {cause} */
FROM (/* why_slow/slow_requests.sql */)
WHERE coverage != 'none' AND duration_us > 0
GROUP BY by_value
ORDER BY
    count() DESC,
    by_value
LIMIT 20
