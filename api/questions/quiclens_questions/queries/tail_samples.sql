-- One row is one sample of a tail: how long a request took that ended as it should.
SELECT
    /* key columns */
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    assumeNotNull(duration_us) AS value,
    weight,
    1 AS number
FROM requests
WHERE (/* ingest/measured_request.sql */)
    AND (/* in_window.sql */)
/* conditions */
