-- One row is one repair of a loss, with its connection's values.
SELECT
    connections.key AS key,
    connections.sample_cluster AS sample_cluster,
    connections.connection_weight AS weight,
    toString(e.trigger) AS trigger,
    e.wait_us AS wait_us,
    e.detection_us AS detection_us,
    e.count AS times,
    e.detection_us / nullIf(connections.rtt_mean_us, 0) AS detection_rtt
FROM
(
    SELECT *
    FROM episodes
    FINAL
    WHERE (/* days_of_window.sql */)
        AND kind = 'repair'
) AS e
INNER JOIN
(
    SELECT
        connection_id,
        vantage,
        trace_id,
        analysis_version,
        rtt_mean_us,
        sample_cluster,
        connection_weight,
        CAST([/* by */] AS Array(Nullable(String))) AS key
    FROM (/* chosen_connections.sql */)
) AS connections
    ON connections.connection_id = e.connection_id
    AND connections.vantage = e.vantage
    AND connections.trace_id = e.trace_id
    AND connections.analysis_version = e.analysis_version
