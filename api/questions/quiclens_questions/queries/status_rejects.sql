-- One row is one server (as in status_servers) and one reason: what could not become a row. Null where no trace is known.
SELECT
    c.server AS server,
    if(c.server IS NULL, c.stack, NULL) AS stack_name,
    if(c.server IS NULL, c.vantage, NULL) AS vantage_name,
    r.reason AS reason,
    count() AS rejects
FROM rejects AS r FINAL
LEFT JOIN
(
    SELECT
        trace_id,
        min(server) AS server,
        min(toNullable(stack)) AS stack,
        min(toNullable(vantage)) AS vantage
    FROM connections_now
    GROUP BY trace_id
) AS c ON c.trace_id = r.trace_id
GROUP BY
    server,
    stack_name,
    vantage_name,
    reason
ORDER BY
    server NULLS LAST,
    stack_name NULLS LAST,
    vantage_name NULLS LAST,
    reason
LIMIT {limit:UInt32}
