-- One row is one stretch of time and one of the ten most frequent values: the chosen quantile, where enough were
-- measured for it.
WITH chosen AS
(
    SELECT
        assumeNotNull(started_at) AS started_at,
        duration_us,
        complete,
        ifNull(toString(${by:raw}), 'unknown') AS by_value
    FROM (/* requests.sql */)
)
SELECT
    $__timeInterval(started_at) AS time,
    by_value,
    if(
        countIf(complete AND duration_us IS NOT NULL) >= round(1 / least(${quantile:raw}, 1 - ${quantile:raw}), 6),
        quantileExactIf(${quantile:raw})(duration_us, complete),
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
LIMIT 100000
