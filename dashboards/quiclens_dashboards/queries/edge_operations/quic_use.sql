-- One row is one stretch of time and one of the ten most frequent values: the share of its requests that came by QUIC,
-- of those whose protocol is known; null below 20.
WITH chosen AS
(
    SELECT
        assumeNotNull(started_at) AS started_at,
        protocol,
        weight,
        ifNull(toString(${by:raw}), 'unknown') AS by_value
    FROM (/* requests.sql */)
    WHERE protocol IS NOT NULL
)
SELECT
    $__timeInterval(started_at) AS time,
    by_value,
    if(count() >= 20, sumIf(weight, protocol = 'h3') / sum(weight), NULL) AS quic_share
FROM chosen
WHERE by_value IN (SELECT by_value FROM chosen GROUP BY by_value ORDER BY count() DESC, by_value LIMIT 10)
GROUP BY
    time,
    by_value
ORDER BY
    time,
    by_value
