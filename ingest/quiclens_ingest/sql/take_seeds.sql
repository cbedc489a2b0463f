-- One row is a connection from which linking starts now: the first ones, and no more of them than have so many requests; but
-- one, whatever it has.
INSERT INTO {taken:Identifier}
SELECT
    connection_id,
    first_day,
    last_day
FROM
(
    SELECT
        *,
        sum(of_connection) OVER (ORDER BY first_day, connection_id ROWS UNBOUNDED PRECEDING) - of_connection AS before
    FROM
    (
        SELECT
            connection_id,
            min(day) AS first_day,
            max(day) AS last_day,
            max(each.requests) AS of_connection
        FROM {seeds:Identifier} AS each
        WHERE connection_id NOT IN (SELECT connection_id FROM {done:Identifier})
        GROUP BY connection_id
    )
)
WHERE before < {requests_at_once:UInt64}
ORDER BY
    first_day,
    connection_id
LIMIT {limit:UInt64}
