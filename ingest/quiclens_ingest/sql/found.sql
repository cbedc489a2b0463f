-- One row is a connection that has a name by which a line calls one, and a day on which it has it. A trace that began more
-- than two days before the line is not looked for: its own next rows bring both together.
INSERT INTO {found:Identifier}
WITH (
    SELECT (min(toDate(start_at)) - 2, max(toDate(end_at)) + 1)
    FROM {called:Identifier}
) AS within
SELECT
    false AS is_key,
    connection_id AS name,
    connection_id,
    trace_day
FROM connections
WHERE (trace_day BETWEEN within.1 AND within.2 OR (/* undated_day.sql */))
    AND connection_id IN (SELECT name FROM {called:Identifier} WHERE NOT is_key)
UNION DISTINCT
SELECT
    role = 'client_key' AS is_key,
    alias AS name,
    connection_id,
    trace_day
FROM connection_aliases
WHERE (trace_day BETWEEN within.1 AND within.2 OR (/* undated_day.sql */))
    AND alias IN (SELECT name FROM {called:Identifier})
