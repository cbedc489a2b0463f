-- One row is one value of one attribute: how many requests have it, and how many of the chosen ones.
SELECT
    attribute,
    operator,
    value,
    n,
    s
FROM
(
/* attributes */
)
ORDER BY
    attribute,
    operator,
    s DESC,
    value
LIMIT {limit:UInt32}
