-- One row is one session of a user and one kind of session, the last of the key: whether it is of that kind. A session is one
-- where QUIC was used for everything, for some, for nothing. A mixed one began over TCP and stayed with QUIC once it knew of it,
-- or fell back to TCP and stayed, or went back and forth; and where it left QUIC for TCP, the last request before may have failed.
SELECT
    arrayConcat(by_values, [toNullable(kind.1)]) AS key,
    user_hash AS sample_cluster,
    toFloat64(1) AS weight,
    toUInt64(kind.2) AS number,
    toUInt64(kind.2 AND kind.3) AS hits
FROM
(
    SELECT
        each_by AS by_values,
        user_hash,
        session,
        arraySort(each -> each.1, groupArray((assumeNotNull(number_in_session), ifNull(protocol = 'h3', false), ifNull(is_failed OR NOT complete, true)))) AS asked,
        arrayMap(each -> each.2, asked) AS is_quic,
        arraySum(is_quic) AS over_quic,
        over_quic > 0 AND over_quic < length(asked) AS is_mixed,
        arrayFilter(each -> each.2 AND NOT asked[each.1 + 1].2, arrayMap((each, at) -> (at, each.2, each.3), arrayPopBack(asked), arrayEnumerate(arrayPopBack(asked)))) AS left_quic,
        arrayCount((each, next) -> each != next, arrayPopBack(is_quic), arrayPopFront(is_quic)) AS changes
    FROM (/* requests_in_sessions.sql */)
    WHERE number_in_session IS NOT NULL AND protocol IS NOT NULL
    GROUP BY
        by_values,
        user_hash,
        session
)
ARRAY JOIN
    [
        ('sessions_all_quic', true, over_quic = length(asked)),
        ('sessions_mixed', true, is_mixed),
        ('sessions_without_quic', true, over_quic = 0),
        ('mixed_began_over_tcp', is_mixed, changes = 1 AND NOT is_quic[1]),
        ('mixed_fell_back', is_mixed, changes = 1 AND is_quic[1]),
        ('mixed_back_and_forth', is_mixed, changes > 1),
        ('left_quic_after_failure', notEmpty(left_quic), left_quic[1].3)
    ] AS kind
WHERE kind.2
