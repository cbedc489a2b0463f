-- One row is one value of the chosen column: its requests whose protocol is known, and the share of them by QUIC (null
-- below 20), most requests first.
SELECT
    ifNull(toString(${by:raw}), 'unknown') AS by_value,
    count() AS measured,
    countIf(protocol = 'h3') AS quic,
    countIf(protocol != 'h3') AS tcp,
    if(measured >= 20, sumIf(weight, protocol = 'h3') / sum(weight), NULL) AS quic_share,
    count() OVER () AS rows_in_all
FROM (/* requests.sql */)
WHERE protocol IS NOT NULL
GROUP BY by_value
ORDER BY
    measured DESC,
    by_value
LIMIT 100
