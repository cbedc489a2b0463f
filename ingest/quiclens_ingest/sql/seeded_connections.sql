-- One row is a trace of a connection from which linking starts now; or such a connection without any, which may have
-- requests yet. Traces of one connection lie at most a day apart, or are undated; what an undated one belongs to is looked
-- for on every day.
INSERT INTO {connections:Identifier}
WITH
    (
        SELECT (minIf(first_day, first_day > toDate(0)) - 1, max(last_day) + 1)
        FROM {taken:Identifier}
    ) AS within
SELECT
    taken.connection_id,
    if(traces.connection_id = '', taken.first_day, traces.trace_day) AS day,
    traces.from_at,
    traces.to_at,
    traces.connection_id != '' AS is_traced,
    0 AS step
FROM {taken:Identifier} AS taken
LEFT JOIN
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
            OR connection_id IN (SELECT connection_id FROM {taken:Identifier} WHERE first_day = toDate(0))
        )
        AND connection_id IN (SELECT connection_id FROM {taken:Identifier})
) AS traces ON traces.connection_id = taken.connection_id
