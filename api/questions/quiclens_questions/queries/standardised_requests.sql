-- One row is one request that ended as it should, of a stratum that the other group has too: it counts for as many as make the
-- stratum's share that of both groups.
SELECT
    /* key columns */
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    assumeNotNull(duration_us) AS value,
    requests.weight * transform((/* stratum.sql */), {strata:Array(UInt64)}, {factors:Array(Float64)}, toFloat64(0)) AS weight,
    1 AS number
FROM requests
WHERE (/* ingest/measured_request.sql */)
    AND has({strata:Array(UInt64)}, (/* stratum.sql */))
    AND (/* in_window.sql */)
/* conditions */
