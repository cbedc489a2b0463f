-- One row is a connection that has a trace of this day, or a request, and about how many requests it has.
INSERT INTO {seeds:Identifier}
SELECT
    connection_id,
    {day:Date} AS day,
    greatest(max(each.requests), count()) AS requests
FROM
(
    SELECT
        connection_id,
        requests
    FROM connections
    WHERE trace_day = {day:Date}
    UNION ALL
    SELECT
        assumeNotNull(stored.connection_id) AS connection_id,
        0 AS requests
    FROM request_versions AS stored
    WHERE stored.connection_id IS NOT NULL AND stored.day = {day:Date}
) AS each
GROUP BY connection_id
