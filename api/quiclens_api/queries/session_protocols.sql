-- One row is one group: the sessions of its users, how many of them used QUIC for everything, for some, for nothing,
-- and how each kind falls on users (a = sessions of the kind of one user, n = all of one user).
SELECT
    by_values,
    sum(n) AS sessions,
    count() AS users,
    sum(requests_of_user) AS requests,
    sumForEach(kinds) AS sum_a,
    sumForEach(arrayMap(a -> a * a, kinds)) AS sum_aa,
    sumForEach(arrayMap(a -> a * n, kinds)) AS sum_an,
    sum(n * n) AS sum_nn
FROM
(
    SELECT
        by_values,
        user_hash,
        toFloat64(count()) AS n,
        sum(requests_of_session) AS requests_of_user,
        [toFloat64(countIf(over_quic = requests_of_session)), toFloat64(countIf(over_quic > 0 AND over_quic < requests_of_session)), toFloat64(countIf(over_quic = 0))] AS kinds
    FROM
    (
        SELECT
            each_by AS by_values,
            user_hash,
            session,
            count() AS requests_of_session,
            countIf(protocol = 'h3') AS over_quic
        FROM (/* requests_in_sessions.sql */)
        WHERE number_in_session IS NOT NULL AND protocol IS NOT NULL
        GROUP BY
            by_values,
            user_hash,
            session
        LIMIT 1000000000000
    )
    GROUP BY
        by_values,
        user_hash
    LIMIT 1000000000000
)
GROUP BY by_values
ORDER BY
    sessions DESC,
    toString(by_values)
LIMIT {limit:UInt32}
