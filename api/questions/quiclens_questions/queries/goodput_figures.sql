-- One row is one figure of one connection, or of one of its outages; the figure and '' end the key. A figure is a share, of
-- what is counted (microseconds, where it is one of time), or a value. The busy time is that in which a connection is not idle.
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
        least(time_in['idle'], duration_us) AS idle_us,
        toUInt64(duration_us - idle_us) AS busy_us,
        arrayConcat(
            [
                (
                    'goodput', unique_stream_bytes_sent * 8e6 / greatest(busy_us, 1),
                    toUInt64(unique_stream_bytes_sent >= {least_bytes:UInt64} AND busy_us > 0), toUInt64(0), toUInt64(0)
                ),
                ('time_idle', 0., toUInt64(0), duration_us, idle_us),
                ('connections_with_outage', 0., toUInt64(0), toUInt64(1), toUInt64(notEmpty(outages)))
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
    WHERE packets > 0
)
ARRAY JOIN figures AS figure
WHERE figure.3 > 0 OR figure.4 > 0
