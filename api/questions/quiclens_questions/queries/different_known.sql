-- One row is one attribute: of how many requests its value is known, and how many of those are chosen.
SELECT
    [/* names */][place] AS attribute,
    n,
    s
FROM
(
    SELECT
        [/* known */] AS all_n,
        [/* chosen */] AS all_s
    FROM (/* population */)
)
ARRAY JOIN
    all_n AS n,
    all_s AS s,
    arrayEnumerate(all_n) AS place
ORDER BY place
LIMIT 1000
