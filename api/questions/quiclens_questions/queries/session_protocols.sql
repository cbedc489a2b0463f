-- One row is one session of a user and one kind of session, the last of the key: whether it is of that kind, which it is when
-- QUIC was used for everything, for some, for nothing.
SELECT
    arrayConcat(by_values, [toNullable(kind.1)]) AS key,
    user_hash AS sample_cluster,
    toFloat64(1) AS weight,
    1 AS number,
    kind.2 AS hits
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
)
ARRAY JOIN
    [
        ('sessions_all_quic', toUInt8(over_quic = requests_of_session)),
        ('sessions_mixed', toUInt8(over_quic > 0 AND over_quic < requests_of_session)),
        ('sessions_without_quic', toUInt8(over_quic = 0))
    ] AS kind
