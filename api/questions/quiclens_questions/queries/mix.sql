-- One row is one stratum of one cut (standardised.py: the finest, without the path, without path and carrier) of a group's
-- requests that ended as they should; of each cut those with most requests first.
SELECT
    cut,
    [cityHash64(carrier_name, path_name, bytes_class), cityHash64(carrier_name, '', bytes_class), cityHash64('', '', bytes_class)][cut] AS stratum,
    count() AS requests,
    sum(of_request) AS weight,
    sum(weight) OVER (PARTITION BY cut) AS all_weight
FROM
(
    SELECT
        (/* stratum.sql */) AS attributes,
        attributes.1 AS carrier_name,
        attributes.2 AS path_name,
        attributes.3 AS bytes_class,
        requests.weight AS of_request
    FROM requests
    WHERE (/* ingest/measured_request.sql */)
        AND (/* in_window.sql */)
    /* conditions */
)
ARRAY JOIN [1, 2, 3] AS cut
GROUP BY
    cut,
    stratum
ORDER BY
    cut,
    requests DESC,
    stratum
LIMIT {limit:UInt32} BY cut
LIMIT 10000
