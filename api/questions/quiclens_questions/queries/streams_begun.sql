-- One row is one stream of these connections, the longest first: by the newest version of a trace of it, the server's before
-- others; and how many streams there are. A stream below 0 stands for all of a connection.
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
    SELECT *
    FROM streams
    WHERE connection_id IN {connections:Array(String)}
        AND ({stream_id:Int64} < 0 OR stream_id = {stream_id:Int64})
    ORDER BY
        transform(vantage, ['server', 'client', 'network'], [0, 1, 2], 3),
        version DESC
    LIMIT 1 BY
        connection_id,
        stream_id
)
ORDER BY
    duration_us DESC,
    request_id
LIMIT {limit:UInt32}
