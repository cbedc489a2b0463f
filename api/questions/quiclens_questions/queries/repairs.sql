-- One row is one trace, for other questions, and the repairs of its losses, each as (trigger, wait_us, detection_us, count).
-- Repairs are few among the episodes of a day, so the newest version of each is looked for among those of the window's
-- connections; FINAL would merge all episodes.
SELECT
    connection_id,
    vantage,
    trace_id,
    analysis_version,
    groupArray((toString(trigger), wait_us, detection_us, count)) AS repairs
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
)
GROUP BY
    connection_id,
    vantage,
    trace_id,
    analysis_version
