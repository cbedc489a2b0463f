-- One row: how many requests there are, how many of them are chosen, and how unevenly the chosen ones fall on users, else
-- on connections (n = requests, s = chosen ones of one of them).
SELECT
    sum(n) AS requests,
    sum(s) AS chosen,
    sum(s * s) AS sum_ss,
    sum(s * n) AS sum_sn,
    sum(n * n) AS sum_nn
FROM
(
    SELECT
        toFloat64(count()) AS n,
        toFloat64(countIf(is_chosen)) AS s
    FROM (/* population */)
    GROUP BY coalesce(user_hash, connection_id, request_id)
)
LIMIT 1
