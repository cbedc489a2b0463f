-- One row is one third of the time from the first request to the last: how unevenly requests that count fall on users, else
-- connections, in the sums of `design_effect` (findings.py), each an array by measure: those of one user of so many.
WITH
    {oldest:DateTime64(6, 'UTC')} AS oldest,
    {newest:DateTime64(6, 'UTC')} AS newest
SELECT
    third,
    sumForEach(k) AS hits,
    sumForEach(n) AS of,
    sumForEach(nn) AS squares,
    sumForEach(arrayMap(hits -> hits * hits, k)) AS hits_hits,
    sumForEach(arrayMap((hits, of) -> hits * of, k, n)) AS hits_of,
    sumForEach(arrayMap(of -> of * of, n)) AS of_of
FROM
(
    SELECT
        third,
        [/* hits */] AS k,
        [/* of */] AS n,
        [/* squares */] AS nn
    FROM
    (
        SELECT
            *,
            (/* triage_third.sql */) AS third
        FROM (/* requests */)
    )
    WHERE cityHash64(coalesce(user_hash, connection_id, request_id)) % {users_every:UInt32} = 0
    GROUP BY
        third,
        coalesce(user_hash, connection_id, request_id)
)
GROUP BY third
ORDER BY third
LIMIT 3
