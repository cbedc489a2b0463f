-- One row is one repair of a loss, with its connection's values. Repairs are few among the episodes of a day, so the newest
-- version of each is looked for among those of the window's connections; FINAL would merge all episodes.
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
    SELECT
        connection_id,
        vantage,
        trace_id,
        analysis_version,
        trigger,
        wait_us,
        detection_us,
        count
    FROM episodes
    WHERE (/* days_of_window.sql */)
        AND kind = 'repair'
        AND connection_id IN (SELECT connection_id FROM connections WHERE (/* began_in_window.sql */))
    ORDER BY version DESC
    LIMIT 1 BY
        connection_id,
        vantage,
        trace_id,
        path_id,
        stream_id,
        first_seq
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
