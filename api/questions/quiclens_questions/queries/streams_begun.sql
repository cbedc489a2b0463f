-- One row is one stream of these connections, the longest first, as the trace that speaks for it saw it; and how many
-- streams there are. A stream below 0 stands for all of a connection.
SELECT
    concat(connection_id, '/', toString(stream_id)) AS request_id,
    vantage,
    started_at,
    duration_us,
    complete,
    path,
    status,
    count() OVER () AS streams
FROM
(
    SELECT s.*
    FROM
    (
        SELECT *
        FROM streams
        FINAL
        WHERE connection_id IN {connections:Array(String)}
    ) AS s
    INNER JOIN
    (
        SELECT
            connection_id,
            vantage,
            trace_id,
            analysis_version,
            complete,
            events_seen
        FROM connections
        FINAL
        WHERE connection_id IN {connections:Array(String)}
    ) AS c
        ON c.connection_id = s.connection_id
        AND c.vantage = s.vantage
        AND c.trace_id = s.trace_id
        AND c.analysis_version = s.analysis_version
    WHERE {stream_id:Int64} < 0 OR s.stream_id = {stream_id:Int64}
    ORDER BY (/* speaks_for_stream.sql */)
    LIMIT 1 BY
        s.connection_id,
        s.stream_id
)
ORDER BY
    duration_us DESC,
    request_id
LIMIT {limit:UInt32}
