-- One row is one arm in one stratum of one group: its requests, those of them that failed, and how both fall on users
-- (a = those that failed of one user, n = all of one user).
SELECT
    by_values,
    stratum,
    arm,
    sum(n) AS requests,
    sum(a) AS failed,
    count() AS draws,
    sum(is_users) AS users,
    sum(a * a) AS sum_aa,
    sum(a * n) AS sum_an,
    sum(n * n) AS sum_nn
FROM
(
    SELECT
        by_values,
        stratum,
        arm,
        draw,
        any(is_user) AS is_users,
        toFloat64(count()) AS n,
        toFloat64(countIf(NOT is_success)) AS a
    FROM (/* compared_requests.sql */)
    GROUP BY
        by_values,
        stratum,
        arm,
        draw
    LIMIT 1000000000000
)
GROUP BY
    by_values,
    stratum,
    arm
ORDER BY
    requests DESC,
    toString(by_values),
    stratum,
    arm
LIMIT {limit:UInt32}
