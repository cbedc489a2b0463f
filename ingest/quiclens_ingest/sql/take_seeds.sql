-- One row is a trace of a connection from which linking starts now; or such a connection without any, which may have
-- requests yet. Traces of one connection lie at most a day apart, or are undated; what an undated one belongs to is looked
-- for on every day.
INSERT INTO {connections:Identifier}
WITH
    left_over AS
    (
        SELECT
            connection_id,
            min(day) AS first_day,
            max(day) AS last_day,
            max(each.requests) AS of_connection
        FROM {seeds:Identifier} AS each
        WHERE connection_id NOT IN (SELECT connection_id FROM {done:Identifier})
        GROUP BY connection_id
    ),
    -- The first ones, and no more of them than have so many requests; but one, whatever it has.
    taken AS
    (
        SELECT
            connection_id,
            first_day,
            last_day
        FROM
        (
            SELECT
                *,
                sum(of_connection) OVER (ORDER BY first_day, connection_id ROWS UNBOUNDED PRECEDING) - of_connection AS before
            FROM left_over
        )
        WHERE before < {requests_at_once:UInt64}
        ORDER BY
            first_day,
            connection_id
        LIMIT {limit:UInt64}
    ),
    (
        SELECT (minIf(first_day, first_day > toDate(0)) - 1, max(last_day) + 1)
        FROM taken
    ) AS within,
    traces AS
    (
        SELECT DISTINCT
            connection_id,
            trace_day,
            started_at AS from_at,
            started_at + toIntervalMicrosecond(duration_us) AS to_at
        FROM connections
        WHERE (
                trace_day BETWEEN within.1 AND within.2
                OR trace_day = toDate(0)
                OR connection_id IN (SELECT connection_id FROM taken WHERE first_day = toDate(0))
            )
            AND connection_id IN (SELECT connection_id FROM taken)
    )
SELECT
    taken.connection_id,
    if(traces.connection_id = '', taken.first_day, traces.trace_day) AS day,
    traces.from_at,
    traces.to_at,
    traces.connection_id != '' AS is_traced,
    0 AS step
FROM taken
LEFT JOIN traces ON traces.connection_id = taken.connection_id
