-- One row: for how many requests both conditions of each pair hold.
SELECT [/* pairs */] AS n
FROM
(
    SELECT [/* held */] AS held
    FROM (/* population */)
)
LIMIT 1
