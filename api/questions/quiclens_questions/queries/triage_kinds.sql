-- One row is one kind of requests (protocol and carrier, with their path or any): the durations beyond which one in ten, one
-- in a hundred and one in a thousand of them lie (0: too few to say); and in every row those of all requests, how many there
-- are, and when the oldest and the newest of them began.
-- Of the three thirds of the time from the first request to the last, that counts in which these durations are least, of those
-- with enough requests: what became worse in one of them is not taken for usual, however many came then.
WITH
    (
        SELECT (min(started_at), max(started_at))
        FROM requests
        WHERE started_at IS NOT NULL
            AND (/* in_window.sql */)
        /* conditions */
    ) AS extent,
    extent.1 AS oldest,
    extent.2 AS newest
SELECT
    kind,
    usual,
    all_usual,
    all_requests,
    oldest,
    newest
FROM
(
    SELECT
        kind,
        sum(requests) AS all_of_kind,
        [minIf(of_third[1], requests >= {fewest:UInt32}), minIf(of_third[2], requests >= {fewest:UInt32}), minIf(of_third[3], requests >= {fewest_of_most:UInt32})] AS usual
    FROM
    (
        SELECT
            if(GROUPING(path_name) = 1, cityHash64(protocol_name, carrier_name), cityHash64(protocol_name, carrier_name, path_name)) AS kind,
            count() AS requests,
            quantilesExact(0.9, 0.99, 0.999)(duration) AS of_third
        FROM
        (
            SELECT
                ifNull(toString(protocol), '') AS protocol_name,
                ifNull(toString(carrier), '') AS carrier_name,
                ifNull(path, '') AS path_name,
                assumeNotNull(duration_us) AS duration,
                (/* triage_third.sql */) AS third
            FROM requests
            WHERE started_at IS NOT NULL
                AND (/* ingest/measured_request.sql */)
                AND (/* in_window.sql */)
            /* conditions */
        )
        GROUP BY GROUPING SETS ((protocol_name, carrier_name, path_name, third), (protocol_name, carrier_name, third))
    )
    GROUP BY kind
    HAVING all_of_kind >= 3 * {fewest:UInt32}
    ORDER BY all_of_kind DESC
    LIMIT {limit:UInt32}
) AS kinds
RIGHT JOIN
(
    SELECT
        [minIf(of_third[1], requests > 0), minIf(of_third[2], requests > 0), minIf(of_third[3], requests >= {fewest_of_most:UInt32})] AS all_usual,
        sum(of_any) AS all_requests
    FROM
    (
        SELECT
            quantilesExactIf(0.9, 0.99, 0.999)(ifNull(duration_us, 0), is_measured) AS of_third,
            countIf(is_measured) AS requests,
            count() AS of_any
        FROM
        (
            SELECT
                started_at,
                duration_us,
                (/* ingest/measured_request.sql */) AS is_measured
            FROM requests
            WHERE started_at IS NOT NULL
                AND (/* in_window.sql */)
            /* conditions */
        )
        GROUP BY (/* triage_third.sql */)
    )
) AS every ON true
