-- One row is a log line stored after the mark, or one that names a changed connection or its client.
INSERT INTO {changed_lines:Identifier}
SELECT DISTINCT
    log_id,
    offset,
    connection_id,
    client_key
FROM request_lines
WHERE NOT arrayExists(
        known -> known.1 = splitByChar('_', _part)[1]
            AND known.2 <= toInt64(splitByChar('_', _part)[2])
            AND known.3 >= toInt64(splitByChar('_', _part)[3]),
        {request_lines_known:Array(Tuple(String, Int64, Int64))}
    )
    OR connection_id IN
    (
        SELECT connection_id
        FROM {changed_connections:Identifier}
        UNION ALL
        SELECT alias
        FROM connection_aliases
        WHERE connection_id IN (SELECT connection_id FROM {changed_connections:Identifier})
    )
    OR client_key IN
    (
        SELECT alias
        FROM connection_aliases
        WHERE role = 'client_key' AND connection_id IN (SELECT connection_id FROM {changed_connections:Identifier})
    )
