-- One row is one kind of requests (protocol and carrier, with their path or any): the durations beyond which one in ten and
-- one in a hundred of them lie; and in every row those of all requests, how many there are, and when the newest of them began.
SELECT
    kind,
    usual,
    all_usual,
    all_requests,
    newest
FROM
(
    SELECT
        if(GROUPING(path_name) = 1, cityHash64(protocol_name, carrier_name), cityHash64(protocol_name, carrier_name, path_name)) AS kind,
        count() AS requests,
        quantilesExact(0.9, 0.99)(duration) AS usual
    FROM
    (
        SELECT
            ifNull(toString(protocol), '') AS protocol_name,
            ifNull(toString(carrier), '') AS carrier_name,
            ifNull(path, '') AS path_name,
            assumeNotNull(duration_us) AS duration
        FROM requests
        WHERE started_at IS NOT NULL
            AND (/* ingest/measured_request.sql */)
            AND (/* in_window.sql */)
        /* conditions */
    )
    GROUP BY GROUPING SETS ((protocol_name, carrier_name, path_name), (protocol_name, carrier_name))
    HAVING requests >= 200
    ORDER BY requests DESC
    LIMIT {limit:UInt32}
) AS kinds
RIGHT JOIN
(
    SELECT
        quantilesExactIf(0.9, 0.99)(ifNull(duration_us, 0), (/* ingest/measured_request.sql */)) AS all_usual,
        count() AS all_requests,
        max(started_at) AS newest
    FROM requests
    WHERE started_at IS NOT NULL
        AND (/* in_window.sql */)
    /* conditions */
) AS every ON true
