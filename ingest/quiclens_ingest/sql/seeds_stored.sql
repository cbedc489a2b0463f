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
        WHERE NOT arrayExists(
                known -> known.1 = splitByChar('_', _part)[1]
                    AND known.2 <= toInt64(splitByChar('_', _part)[2])
                    AND known.3 >= toInt64(splitByChar('_', _part)[3]),
                {connections_known:Array(Tuple(String, Int64, Int64))}
            )
            AND NOT arrayExists(
                known -> known.1 = _partition_id AND known.2 <= toInt64(_block_number) AND known.3 >= toInt64(_block_number),
                {connections_known:Array(Tuple(String, Int64, Int64))}
            )
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
    WHERE NOT arrayExists(
            known -> known.1 = splitByChar('_', _part)[1]
                AND known.2 <= toInt64(splitByChar('_', _part)[2])
                AND known.3 >= toInt64(splitByChar('_', _part)[3]),
            {streams_known:Array(Tuple(String, Int64, Int64))}
        )
        AND NOT arrayExists(
            known -> known.1 = _partition_id AND known.2 <= toInt64(_block_number) AND known.3 >= toInt64(_block_number),
            {streams_known:Array(Tuple(String, Int64, Int64))}
        )
    UNION ALL
    SELECT
        connection_id,
        trace_day,
        0 AS requests
    FROM connection_aliases
    WHERE NOT arrayExists(
            known -> known.1 = splitByChar('_', _part)[1]
                AND known.2 <= toInt64(splitByChar('_', _part)[2])
                AND known.3 >= toInt64(splitByChar('_', _part)[3]),
            {connection_aliases_known:Array(Tuple(String, Int64, Int64))}
        )
        AND NOT arrayExists(
            known -> known.1 = _partition_id AND known.2 <= toInt64(_block_number) AND known.3 >= toInt64(_block_number),
            {connection_aliases_known:Array(Tuple(String, Int64, Int64))}
        )
) AS each
GROUP BY
    connection_id,
    day
