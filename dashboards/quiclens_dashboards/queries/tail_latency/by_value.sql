-- One row is one stretch of time and one of the ten most frequent values: the chosen quantile, where enough were
-- measured for it.
WITH chosen AS
(
    SELECT
        assumeNotNull(started_at) AS started_at,
        duration_us,
        millionths,
        is_measured,
        ifNull(toString(${by:raw}), 'unknown') AS by_value
    FROM (/* requests.sql */)
)
SELECT
    $__timeInterval(started_at) AS time,
    by_value,
    if(
        countIf(is_measured) >= round(1 / least(${quantile:raw}, 1 - ${quantile:raw}), 6),
        quantileExactWeightedIf(${quantile:raw})(duration_us, millionths, is_measured),
        NULL
    ) AS quantile_us
FROM chosen
WHERE by_value IN (SELECT by_value FROM chosen GROUP BY by_value ORDER BY count() DESC, by_value LIMIT 10)
GROUP BY
    time,
    by_value
ORDER BY
    time,
    by_value
