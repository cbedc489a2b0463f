-- One row is one stratum of a group's requests that ended as they should (standardised.py), those with most of them first.
SELECT
    (/* stratum.sql */) AS stratum,
    count() AS requests,
    sum(requests.weight) AS weight,
    sum(weight) OVER () AS all_weight
FROM requests
WHERE (/* ingest/measured_request.sql */)
    AND (/* in_window.sql */)
/* conditions */
GROUP BY stratum
ORDER BY
    requests DESC,
    stratum
LIMIT {limit:UInt32}
