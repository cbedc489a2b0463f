-- One row: for how many requests both conditions of each pair hold.
SELECT [/* pairs */] AS n
FROM
(
    SELECT /* both */
    FROM
    (
        SELECT /* columns */
        FROM (/* population */)
    )
)
LIMIT 1
