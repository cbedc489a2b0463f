-- One row is one request that ended as it should, of a stratum that the other group has too: it counts for as many as make the
-- stratum's share that of both groups.
SELECT
    /* key columns */
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    assumeNotNull(duration_us) AS value,
    (/* stratum.sql */) AS attributes,
    transform(
        cityHash64(attributes.1, attributes.2, attributes.3),
        {strata:Array(UInt64)},
        {factors:Array(Float64)},
        toFloat64(0)
    ) AS factor,
    requests.weight * factor AS weight,
    1 AS number
FROM requests
WHERE (/* ingest/measured_request.sql */)
    AND factor > 0
    AND (/* in_window.sql */)
/* conditions */
