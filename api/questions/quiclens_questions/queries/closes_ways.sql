-- One row is one way in which connections ended, the commonest first: a peer can write any reason into its close.
SELECT
    reason,
    code,
    closed_by,
    cityHash64(reason, code, closed_by) AS way
FROM (/* connection_ends.sql */)
GROUP BY
    reason,
    code,
    closed_by
ORDER BY
    sum(connection_weight) DESC,
    reason,
    code,
    closed_by
LIMIT {limit:UInt32}
