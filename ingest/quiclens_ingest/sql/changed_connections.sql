-- One row is a connection of which something was stored after the mark, or from which a trace moved away.
INSERT INTO {changed_connections:Identifier}
SELECT DISTINCT connection_id
FROM
(
    SELECT connection_id
    FROM connections
    WHERE NOT has({connections_parts:Array(String)}, _part)
    UNION ALL
    SELECT connection_id
    FROM streams
    WHERE NOT has({streams_parts:Array(String)}, _part)
    UNION ALL
    SELECT connection_id
    FROM connection_aliases
    WHERE NOT has({connection_aliases_parts:Array(String)}, _part)
    UNION ALL
    SELECT assumeNotNull(requests.connection_id) AS connection_id
    FROM requests
    WHERE requests.connection_id IS NOT NULL AND trace_id IN
    (
        SELECT trace_id
        FROM connections
        WHERE NOT has({connections_parts:Array(String)}, _part)
    )
)
