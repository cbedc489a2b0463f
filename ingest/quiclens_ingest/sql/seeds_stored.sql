-- One row is a connection of which something was stored after the mark, or from which a trace moved away, with the day of
-- one of its traces, and about how many requests it has.
INSERT INTO {seeds:Identifier}
WITH
    new_connections AS
    (
        SELECT
            connection_id,
            trace_id,
            trace_day,
            requests
        FROM connections
        WHERE (/* stored_after.sql of connections */)
    )
SELECT
    connection_id,
    trace_day AS day,
    greatest(max(each.requests), count()) AS requests
FROM
(
    SELECT
        connection_id,
        trace_day,
        requests
    FROM new_connections
    UNION ALL
    SELECT
        connection_id,
        trace_day,
        requests
    FROM connections
    WHERE trace_day IN (SELECT trace_day FROM new_connections) AND trace_id IN (SELECT trace_id FROM new_connections)
    UNION ALL
    SELECT
        connection_id,
        trace_day,
        0 AS requests
    FROM streams
    WHERE (/* stored_after.sql of streams */)
    UNION ALL
    SELECT
        connection_id,
        trace_day,
        0 AS requests
    FROM connection_aliases
    WHERE (/* stored_after.sql of connection_aliases */)
) AS each
GROUP BY
    connection_id,
    day
