-- One row is one way in which losses were found: how long that took after the packet was sent, in RTTs of the connection.
SELECT
    trigger,
    count() AS repairs,
    uniqExact(connection_id) AS connections,
    quantileExactWeighted(0.5)(detection_us, millionths) AS detection_p50,
    quantileExactWeighted(0.5)(detection_rtt, millionths) AS detection_rtt_p50,
    if(repairs >= 20, quantileExactWeighted(0.95)(detection_rtt, millionths), NULL) AS detection_rtt_p95
FROM
(
    SELECT
        toString(e.trigger) AS trigger,
        c.millionths AS millionths,
        e.connection_id AS connection_id,
        assumeNotNull(e.detection_us) AS detection_us,
        e.detection_us / nullIf(c.rtt_mean_us, 0) AS detection_rtt
    FROM
    (
        SELECT *
        FROM episodes FINAL
        WHERE trace_day >= toDate($__fromTime, 'UTC')
            AND trace_day <= toDate($__toTime, 'UTC')
            AND kind = 'repair'
            AND detection_us IS NOT NULL
    ) AS e
    INNER JOIN (/* connections.sql */) AS c
        ON c.connection_id = e.connection_id
        AND c.vantage = e.vantage
        AND c.trace_id = e.trace_id
        AND c.analysis_version = e.analysis_version
)
GROUP BY trigger
ORDER BY
    repairs DESC,
    trigger
LIMIT 20
