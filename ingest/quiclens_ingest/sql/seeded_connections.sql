-- One row is a trace of a connection from which linking starts now; or such a connection without any, which may have
-- requests yet. Traces of one connection lie at most a day apart, or are undated; what an undated one belongs to is looked
-- for on every day.
INSERT INTO {connections:Identifier}
WITH
    days AS
    (
        SELECT
            connection_id,
            arrayJoin([first_day, last_day]) AS trace_day
        FROM {taken:Identifier}
    ),
    (
        SELECT (min(trace_day) - 1, max(trace_day) + 1)
        FROM days
        WHERE NOT (/* undated_day.sql */)
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
        (/* start_of_a_trace.sql */) AS from_at,
        (/* end_of_a_trace.sql */) AS to_at
    FROM connections
    WHERE (
            trace_day BETWEEN within.1 AND within.2
            OR (/* undated_day.sql */)
            OR connection_id IN (SELECT connection_id FROM days WHERE (/* undated_day.sql */))
        )
        AND connection_id IN (SELECT connection_id FROM {taken:Identifier})
) AS traces ON traces.connection_id = taken.connection_id
