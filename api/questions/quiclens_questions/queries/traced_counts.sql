-- One row: how many requests an answer speaks of, how many of them have a trace, of how many of those records are
-- missing (by grade), and their weight.
SELECT
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    countIf(grade = 'repaired') AS repaired,
    countIf(grade = 'damaged') AS damaged,
    round(sum(weight), 6) AS weight
FROM
(
    SELECT
        coverage,
        grade,
        weight
    FROM requests
    WHERE ifNull(duration_us, 0) >= {min_us:UInt64}
        AND (/* in_window.sql */)
    /* conditions */
)
LIMIT 1
