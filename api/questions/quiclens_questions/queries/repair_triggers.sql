-- One row is one repair with a detection and one of the triggers that were met, which ends the key: whether it was this one.
SELECT
    arrayConcat(key_of, [toNullable(each)]) AS key,
    sample_cluster,
    weight,
    1 AS number,
    toUInt8(trigger = each) AS hits
FROM
(
    SELECT
        key AS key_of,
        sample_cluster,
        weight,
        trigger
    FROM (/* repairs.sql */)
    WHERE detection_rtt IS NOT NULL
)
ARRAY JOIN {triggers:Array(String)} AS each
