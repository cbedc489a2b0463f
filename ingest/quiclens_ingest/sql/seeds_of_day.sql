-- One row is a connection that has a trace of this day, or a request.
INSERT INTO {seeds:Identifier}
SELECT DISTINCT
    connection_id,
    {day:Date} AS day
FROM
(
    SELECT connection_id
    FROM connections
    WHERE trace_day = {day:Date}
    UNION ALL
    SELECT assumeNotNull(requests.connection_id) AS connection_id
    FROM request_versions AS requests
    WHERE requests.connection_id IS NOT NULL AND day = {day:Date}
)
