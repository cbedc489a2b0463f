-- One row is one request of a tail that ended: whether it failed.
SELECT
    /* key columns */
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    weight,
    1 AS number,
    toUInt8((/* ingest/failed_request.sql */)) AS hits
FROM requests
WHERE complete
    AND (/* in_window.sql */)
/* conditions */
