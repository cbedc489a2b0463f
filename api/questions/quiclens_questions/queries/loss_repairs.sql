-- One row is one figure of one repair: the figure and the trigger ('' = of all triggers) end the key.
SELECT
    arrayConcat(key_of, [toNullable(figure.1), toNullable(figure.2)]) AS key,
    sample_cluster,
    assumeNotNull(figure.3) AS value,
    weight,
    1 AS number
FROM
(
    SELECT
        key AS key_of,
        sample_cluster,
        weight,
        [
            ('retransmission_delay', '', toFloat64(wait_us)),
            ('retransmissions', '', toNullable(toFloat64(times))),
            ('detection_delay', '', toFloat64(detection_us)),
            ('detection', trigger, detection_rtt)
        ] AS figures
    FROM (/* repairs.sql */)
)
ARRAY JOIN figures AS figure
WHERE figure.3 IS NOT NULL
