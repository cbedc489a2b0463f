-- One row is one event of an app's log in the stretch, with who the client is and the
-- protocol, of which an app may write any. An app is one cluster: its events are alike. A log
-- without a time is within the stretch only where that has no beginning. Written into others.
SELECT
    log.*,
    e.name AS name,
    e.more AS more,
    JSONExtractString(more['protocol']) AS any_protocol,
    if(any_protocol IN ('quic', 'tcp', ''), any_protocol, 'other') AS protocol
FROM
(
    SELECT
        connection_id,
        trace_id,
        time_us,
        toString(name) AS name,
        more
    FROM events FINAL
    WHERE connection_id >= 'client:'
        AND connection_id < 'client;'
        AND (/* days_of_logs.sql */)
) AS e
INNER JOIN
(
    SELECT *
    FROM
    (
        SELECT
            connection_id,
            trace_id,
            started_at,
            connection_id AS sample_cluster,
            1 / if(trace_probability BETWEEN 0.000001 AND 1, trace_probability, 1)
                / if(event_probability BETWEEN 0.000001 AND 1, event_probability, 1) AS connection_weight,
            pop,
            carrier,
            asn,
            country,
            region,
            city,
            h3_cell,
            network_type,
            app_version,
            device,
            client_network
        FROM connections FINAL
        WHERE connection_id >= 'client:'
            AND connection_id < 'client;'
            AND (/* days_of_logs.sql */)
        ORDER BY
            version DESC,
            connection_id DESC
        LIMIT 1 BY trace_id
    )
    WHERE true
    /* conditions */
) AS log
    ON log.connection_id = e.connection_id
    AND log.trace_id = e.trace_id
WHERE ({since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR ifNull(log.started_at + toIntervalMicrosecond(e.time_us) >= {since:Nullable(DateTime64(6, 'UTC'))}, false))
    AND ({until:Nullable(DateTime64(6, 'UTC'))} IS NULL OR ifNull(log.started_at + toIntervalMicrosecond(e.time_us) < {until:Nullable(DateTime64(6, 'UTC'))}, true))
