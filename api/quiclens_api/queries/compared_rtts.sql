-- One row is one sample of a comparison: the smoothed round trip when a request ended that succeeded.
SELECT
    arrayConcat(by_values, [toNullable(stratum), toNullable(arm)]) AS key,
    draw,
    assumeNotNull(rtt_us) AS value
FROM (/* compared_requests.sql */)
WHERE is_success AND rtt_us IS NOT NULL
