-- One row: the 95th percentile of the durations, and where the bands of each measured attribute begin.
SELECT
    quantileExact(0.95)(duration_us) AS slow_us,
    [/* numbers */] AS edges
FROM (/* population */)
LIMIT 1
