-- One row is one sample of a comparison: the smoothed round trip when a request ended that succeeded.
SELECT
    arrayConcat(by_values, [toNullable(stratum), toNullable(arm)]) AS key,
    sample_cluster,
    assumeNotNull(rtt_us) AS value,
    weight,
    1 AS number
FROM (/* compared_requests.sql */)
WHERE NOT is_failed AND rtt_us IS NOT NULL
