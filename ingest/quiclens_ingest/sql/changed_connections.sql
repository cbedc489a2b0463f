-- One row is a connection of which something was stored after the mark, or from which a trace moved away.
INSERT INTO {changed_connections:Identifier}
SELECT DISTINCT connection_id
FROM
(
    SELECT connection_id
    FROM connections
    WHERE NOT arrayExists(
            known -> known.1 = splitByChar('_', _part)[1]
                AND known.2 <= toInt64(splitByChar('_', _part)[2])
                AND known.3 >= toInt64(splitByChar('_', _part)[3]),
            {connections_known:Array(Tuple(String, Int64, Int64))}
        )
    UNION ALL
    SELECT connection_id
    FROM streams
    WHERE NOT arrayExists(
            known -> known.1 = splitByChar('_', _part)[1]
                AND known.2 <= toInt64(splitByChar('_', _part)[2])
                AND known.3 >= toInt64(splitByChar('_', _part)[3]),
            {streams_known:Array(Tuple(String, Int64, Int64))}
        )
    UNION ALL
    SELECT connection_id
    FROM connection_aliases
    WHERE NOT arrayExists(
            known -> known.1 = splitByChar('_', _part)[1]
                AND known.2 <= toInt64(splitByChar('_', _part)[2])
                AND known.3 >= toInt64(splitByChar('_', _part)[3]),
            {connection_aliases_known:Array(Tuple(String, Int64, Int64))}
        )
    UNION ALL
    SELECT assumeNotNull(requests.connection_id) AS connection_id
    FROM requests
    WHERE requests.connection_id IS NOT NULL AND trace_id IN
    (
        SELECT trace_id
        FROM connections
        WHERE NOT arrayExists(
                known -> known.1 = splitByChar('_', _part)[1]
                    AND known.2 <= toInt64(splitByChar('_', _part)[2])
                    AND known.3 >= toInt64(splitByChar('_', _part)[3]),
                {connections_known:Array(Tuple(String, Int64, Int64))}
            )
    )
)
