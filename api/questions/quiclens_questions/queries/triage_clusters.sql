-- One row is one third of the time from the first request to the last: how unevenly slow requests, and failed ones, fall on
-- users, else connections, in the sums of `design_effect` (findings.py): those of one user of so many.
WITH
    {oldest:DateTime64(6, 'UTC')} AS oldest,
    {newest:DateTime64(6, 'UTC')} AS newest
SELECT
    third,
    sum(n) AS requests,
    sum(k) AS slow,
    sum(k * k) AS slow_ss,
    sum(k * n) AS slow_sn,
    sum(n * n) AS nn,
    sum(e) AS ended,
    sum(f) AS failed,
    sum(f * f) AS failed_ss,
    sum(f * e) AS failed_sn,
    sum(e * e) AS ee
FROM
(
    SELECT
        third,
        toFloat64(countIf(is_measured)) AS n,
        toFloat64(countIf(is_slow)) AS k,
        toFloat64(countIf(complete)) AS e,
        toFloat64(countIf(is_failed)) AS f
    FROM
    (
        SELECT
            *,
            (/* triage_third.sql */) AS third
        FROM (/* triage_requests.sql */)
    )
    WHERE cityHash64(coalesce(user_hash, connection_id, request_id)) % {users_every:UInt32} = 0
    GROUP BY
        third,
        coalesce(user_hash, connection_id, request_id)
)
GROUP BY third
ORDER BY third
LIMIT 3
