-- One row is one figure of one connection's handshake; the figure and '' end the key. A figure is a share, of what is
-- counted, or a value. What a client saw is known where its trace was loaded too, or alone.
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
        vantage = 'client' OR client_saw.traces > 0 AS has_client,
        if(vantage = 'client', packets_lost_handshake > 0, client_saw.lost > 0) AS is_lost_by_client,
        handshake_complete AND handshake_us IS NOT NULL AS is_timed,
        [
            ('handshakes_complete', 0., false, true, handshake_complete),
            ('handshake', toFloat64(ifNull(handshake_us, 0)), is_timed, false, false),
            ('handshake_rtts', ifNull(handshake_us / nullIf(rtt_mean_us, 0), 0.), is_timed AND ifNull(rtt_mean_us, 0) > 0, false, false),
            ('connections_with_retry', 0., false, true, retries > 0),
            ('with_loss_seen_by_server', 0., false, vantage = 'server', vantage = 'server' AND packets_lost_handshake > 0),
            ('with_loss_seen_by_client', 0., false, has_client, has_client AND is_lost_by_client),
            (
                'with_loss_unseen_by_server', 0., false, vantage = 'server' AND has_client,
                vantage = 'server' AND has_client AND is_lost_by_client AND packets_lost_handshake = 0
            ),
            ('zero_rtt_attempted', 0., false, true, zero_rtt != ''),
            ('zero_rtt_accepted', 0., false, zero_rtt != '', zero_rtt = 'accepted'),
            ('zero_rtt_rejected', 0., false, zero_rtt != '', zero_rtt = 'rejected')
        ] AS figures
    FROM (/* chosen_connections.sql */) AS connections
    LEFT JOIN
    (
        SELECT
            connection_id,
            count() AS traces,
            max(packets_lost_handshake) AS lost
        FROM (/* connections_in_window.sql */)
        WHERE vantage = 'client'
        GROUP BY connection_id
    ) AS client_saw USING (connection_id)
    WHERE packets > 0
)
ARRAY JOIN figures AS figure
WHERE figure.3 OR figure.4
