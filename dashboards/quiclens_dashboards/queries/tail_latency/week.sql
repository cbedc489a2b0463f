-- One row is one hour of one day of the week, UTC, whether or not there were requests in it. Enough for p95 is 20.
SELECT
    ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'][weekday] AS day,
    leftPad(toString(hour_of_day), 2, '0') AS hour,
    p95
FROM
(
    SELECT
        toDayOfWeek(started_at, 0, 'UTC') AS weekday,
        toHour(started_at, 'UTC') AS hour_of_day,
        if(count() >= 20, quantileExactWeighted(0.95)(duration_us, millionths), NULL) AS p95
    FROM
    (
        SELECT
            assumeNotNull(started_at) AS started_at,
            duration_us,
            millionths
        FROM (/* requests.sql */)
        WHERE is_measured
    )
    GROUP BY
        weekday,
        hour_of_day
    ORDER BY
        weekday WITH FILL FROM 1 TO 8,
        hour_of_day WITH FILL FROM 0 TO 24
)
LIMIT 168
