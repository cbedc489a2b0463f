-- One row is one sample of a comparison: how long a request took that succeeded.
SELECT
    arrayConcat(by_values, [toNullable(stratum), toNullable(arm)]) AS key,
    sample_cluster,
    assumeNotNull(duration_us) AS value,
    weight,
    1 AS number
FROM (/* compared_requests.sql */)
WHERE NOT is_failed AND duration_us IS NOT NULL
