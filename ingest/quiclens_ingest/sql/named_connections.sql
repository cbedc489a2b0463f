-- One row is a trace of a connection that a line of this step may mean: it has the name, at the same time where both are
-- dated; a minute is allowed for clocks that differ.
INSERT INTO {connections:Identifier}
WITH
    (
        SELECT (min(trace_day) - 1, max(trace_day) + 1)
        FROM {found:Identifier}
        WHERE NOT (/* undated_day.sql */)
    ) AS days,
    traces AS
    (
        SELECT DISTINCT
            connection_id,
            trace_day,
            (/* start_of_a_trace.sql */) AS from_at,
            (/* end_of_a_trace.sql */) AS to_at
        FROM connections
        WHERE (
                trace_day BETWEEN days.1 AND days.2
                OR (/* undated_day.sql */)
                OR connection_id IN (SELECT connection_id FROM {found:Identifier} WHERE (/* undated_day.sql */))
            )
            AND connection_id IN (SELECT connection_id FROM {found:Identifier})
            AND connection_id NOT IN (SELECT connection_id FROM {connections:Identifier})
    )
SELECT
    connection_id,
    trace_day,
    from_at,
    to_at,
    true,
    {step:UInt8}
FROM traces
WHERE connection_id IN
(
    SELECT traces.connection_id
    FROM traces
    INNER JOIN {found:Identifier} AS found ON found.connection_id = traces.connection_id
    INNER JOIN {called:Identifier} AS called
        ON called.is_key = found.is_key
        AND called.name = found.name
    WHERE isNull(traces.from_at)
        OR (
            called.end_at >= traces.from_at - toIntervalMinute(1)
            AND called.start_at <= traces.to_at + toIntervalMinute(1)
        )
)
