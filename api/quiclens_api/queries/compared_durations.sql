-- One row is one sample of a comparison: how long a request took that succeeded.
SELECT
    arrayConcat(by_values, [toNullable(stratum), toNullable(arm)]) AS key,
    draw,
    assumeNotNull(duration_us) AS value
FROM (/* compared_requests.sql */)
WHERE is_success AND duration_us IS NOT NULL
