-- One row is one request whose protocol is known: whether it went over QUIC.
SELECT
    /* key columns */
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    weight,
    1 AS number,
    toUInt8(protocol = 'h3') AS hits
FROM requests
WHERE protocol IS NOT NULL
    AND (/* in_window.sql */)
/* conditions */
