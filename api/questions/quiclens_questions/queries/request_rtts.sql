-- One row is one sample: the smoothed round trip when a request ended, as its trace told it or as its server logged it.
SELECT
    /* key columns */
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    assumeNotNull(rtt_us) AS value,
    weight,
    1 AS number
FROM requests
WHERE rtt_us IS NOT NULL
    AND (/* in_window.sql */)
/* conditions */
