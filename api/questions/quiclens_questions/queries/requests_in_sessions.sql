-- One row is one request with its place in its user's session: the requests of one user with less than half an hour
-- between two. Who is not known, or when, has no session.
SELECT
    *,
    if(user_hash IS NULL OR started_at IS NULL, NULL, toNullable(row_number() OVER (PARTITION BY who, session ORDER BY started_at, request_id))) AS number_in_session
FROM
(
    SELECT
        *,
        sum(begins) OVER (PARTITION BY who ORDER BY started_at, request_id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS session
    FROM
    (
        SELECT
            CAST([/* by */] AS Array(Nullable(String))) AS each_by,
            request_id,
            connection_id,
            user_hash,
            coalesce(user_hash, request_id) AS who,
            started_at,
            complete,
            (/* ingest/failed_request.sql */) AS is_failed,
            weight,
            duration_us,
            response_bytes,
            request_number,
            rtt_us,
            protocol,
            ifNull(dateDiff('second', lagInFrame(started_at) OVER (PARTITION BY who ORDER BY started_at, request_id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), started_at) >= 1800, 1) AS begins
        FROM requests
        WHERE (/* in_window.sql */)
        /* conditions */
    )
)
