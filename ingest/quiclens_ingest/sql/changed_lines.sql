-- One row is a log line stored after the mark, or one that names a changed connection.
INSERT INTO {changed_lines:Identifier}
SELECT DISTINCT
    log_id,
    offset,
    connection_id
FROM request_lines
WHERE NOT has({request_lines_parts:Array(String)}, _part)
    OR connection_id IN
    (
        SELECT connection_id
        FROM {changed_connections:Identifier}
        UNION ALL
        SELECT alias
        FROM connection_aliases
        WHERE connection_id IN (SELECT connection_id FROM {changed_connections:Identifier})
    )
