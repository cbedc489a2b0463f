-- One row is one value of one attribute: how many requests have it, and how many of the chosen ones. Categorical attributes
-- are grouped by all at once; of each those values are there that most of the chosen have.
SELECT
    [/* names */][place] AS attribute,
    '=' AS operator,
    assumeNotNull(texts[place]) AS value,
    n,
    s
FROM
(
    SELECT
        indexOf([/* is in set */], 0) AS place,
        [/* texts */] AS texts,
        count() AS n,
        countIf(is_chosen) AS s
    FROM (/* population */)
    GROUP BY GROUPING SETS (/* sets */)
    HAVING n >= {fewest:UInt64}
)
WHERE texts[place] IS NOT NULL
ORDER BY
    place,
    s DESC,
    value
LIMIT {values:UInt32} BY place
LIMIT {limit:UInt32}
UNION ALL
SELECT
    each.1 AS attribute,
    each.2 AS operator,
    each.3 AS value,
    each.4 AS n,
    each.5 AS s
FROM
(
    SELECT arrayJoin([/* numbers */]) AS each
    FROM (/* population */)
)
WHERE n >= {fewest:UInt64}
LIMIT {limit:UInt32}
