-- One row is one request of a comparison that ended: whether it failed.
SELECT
    arrayConcat(by_values, [toNullable(stratum), toNullable(arm)]) AS key,
    sample_cluster,
    weight,
    1 AS number,
    toUInt8(is_failed) AS hits
FROM (/* compared_requests.sql */)
