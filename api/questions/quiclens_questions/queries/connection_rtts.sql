-- One row is one bucket of one connection's round trips: its middle, and how many samples lie in it.
SELECT
    /* key columns */
    sample_cluster,
    pow(1.02, bucket + 0.5) AS value,
    connection_weight AS weight,
    samples_in AS number
FROM (/* chosen_connections.sql */)
ARRAY JOIN
    mapKeys(rtt_histogram) AS bucket,
    mapValues(rtt_histogram) AS samples_in
