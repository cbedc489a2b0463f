-- One row is one figure of one connection, or of one of its outages; the figure and '' end the key. A figure is a share, of
-- what is counted (microseconds, where it is one of time), or a value. The busy time is that in which a
-- connection is not idle, of one that had a request. After its last request it is idle too: no episode says so, since that is
-- written when the next one begins. An outage that never ended counts, and has no length.
SELECT
    arrayConcat(key_of, [toNullable(figure.1), '']) AS key,
    sample_cluster,
    weight_of AS weight,
    weight_of AS counted_weight,
    figure.2 AS value,
    toUInt64(figure.3) AS number,
    toUInt64(figure.4) AS counted,
    toUInt64(figure.5) AS hits
FROM
(
    SELECT
        CAST([/* by */] AS Array(Nullable(String))) AS key_of,
        sample_cluster,
        connection_weight AS weight_of,
        request_count > 0 AS has_request,
        if(last_end_us > 0 AND position(open_episodes, '"idle"') > 0, toUInt64(greatest(0, toInt64(duration_us) - last_end_us)), 0) AS idle_at_end_us,
        if(has_request, least(time_in['idle'] + idle_at_end_us, duration_us), 0) AS idle_us,
        if(has_request, toUInt64(duration_us - idle_us), 0) AS busy_us,
        arrayConcat(
            [
                (
                    'goodput', unique_stream_bytes_sent * 8e6 / greatest(busy_us, 1),
                    toUInt64(unique_stream_bytes_sent >= {least_bytes:UInt64} AND busy_us > 0), toUInt64(0), toUInt64(0)
                ),
                ('connections_with_request', 0., toUInt64(0), toUInt64(1), toUInt64(has_request)),
                ('time_idle', 0., toUInt64(0), if(has_request, duration_us, 0), idle_us),
                (
                    'connections_with_outage', 0., toUInt64(0), toUInt64(1),
                    toUInt64(notEmpty(outages) OR position(open_episodes, '"pto"') > 0)
                )
            ],
            arrayMap(
                kind -> (concat('time_in_', kind), 0., toUInt64(0), busy_us, least(time_in[kind], busy_us)),
                ['cwnd_blocked', 'bandwidth', 'connection_flow_control', 'recovery', 'pto']
            ),
            arrayMap(outage -> ('outage', outage.1, toUInt64(1), toUInt64(0), toUInt64(0)), outages),
            arrayMap(outage -> ('outage_recovery', outage.2, toUInt64(1), toUInt64(0), toUInt64(0)), outages)
        ) AS figures
    FROM (/* chosen_connections.sql */) AS connections
    LEFT JOIN (/* activities.sql */) AS active USING (connection_id, vantage, trace_id, analysis_version)
    LEFT JOIN
    (
        SELECT
            connection_id,
            vantage,
            trace_id,
            analysis_version,
            max(end_us) AS last_end_us
        FROM streams
        WHERE (/* days_of_window.sql */)
            AND connection_id IN (SELECT connection_id FROM connections WHERE (/* began_in_window.sql */))
        GROUP BY
            connection_id,
            vantage,
            trace_id,
            analysis_version
    ) AS ended USING (connection_id, vantage, trace_id, analysis_version)
    WHERE packets > 0
)
ARRAY JOIN figures AS figure
WHERE figure.3 > 0 OR figure.4 > 0
