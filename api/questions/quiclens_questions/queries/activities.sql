-- One row is one trace, for other questions: how long it was in each condition, in microseconds (in recovery: with data in flight), and its outages, each as (from
-- the last send that nothing answered to the answer, and of that from the first probe on). A probe timeout that was not needed
-- is none.
SELECT
    connection_id,
    vantage,
    trace_id,
    analysis_version,
    sumMap(map(toString(kind), toUInt64(if(kind = 'recovery', ifNull(wait_us, 0), greatest(0, end_us - start_us))))) AS time_in,
    groupArrayIf(
        (
            toFloat64(greatest(0, end_us - start_us) + ifNull(wait_us, 0)),
            toFloat64(greatest(0, end_us - start_us))
        ),
        kind = 'pto'
    ) AS outages
FROM
(
    SELECT
        connection_id,
        vantage,
        trace_id,
        analysis_version,
        kind,
        start_us,
        end_us,
        wait_us,
        trigger
    FROM episodes
    WHERE (/* days_of_window.sql */)
        AND kind IN ('idle', 'cwnd_blocked', 'bandwidth', 'connection_flow_control', 'recovery', 'pto')
        AND connection_id IN (SELECT connection_id FROM connections WHERE (/* began_in_window.sql */))
    ORDER BY version DESC
    LIMIT 1 BY
        connection_id,
        vantage,
        trace_id,
        kind,
        path_id,
        stream_id,
        first_seq
)
WHERE trigger != 'spurious'
GROUP BY
    connection_id,
    vantage,
    trace_id,
    analysis_version
