-- One row is one figure of one race of QUIC against TCP, or of one choice between IPv6 and IPv4, that an app logged: the figure,
-- and the error or the protocol that it is of ('' = of any), end the key. A figure is a share, of what is counted, or a value.
-- Late: TCP was there first, and QUIC came up after; failed: QUIC gave an error; cancelled: the app gave it up when TCP was
-- there. The commonest errors have a figure each, all others share one.
WITH
    (
        SELECT groupArray(error)
        FROM
        (
            SELECT
                JSONExtractString(more['quic_error']) AS error,
                sum(connection_weight) AS races
            FROM (/* client_events.sql */)
            WHERE name = 'client:race_ended' AND error != ''
            GROUP BY error
            ORDER BY
                races DESC,
                error
            LIMIT {errors:UInt32}
        )
    ) AS errors
SELECT
    arrayConcat(key_of, [toNullable(figure.1), toNullable(figure.2)]) AS key,
    sample_cluster,
    connection_weight AS weight,
    connection_weight AS counted_weight,
    figure.3 AS value,
    toUInt64(figure.4) AS number,
    toUInt64(figure.5) AS counted,
    toUInt64(figure.6) AS hits
FROM
(
    SELECT
        CAST([/* by */] AS Array(Nullable(String))) AS key_of,
        sample_cluster,
        connection_weight,
        JSONExtractString(more['winner']) AS winner,
        JSONExtractString(more['quic_error']) AS quic_error,
        toUInt64OrNull(more['quic_us']) AS quic_us,
        toUInt64OrNull(more['tcp_us']) AS tcp_us,
        toUInt64OrNull(more['tcp_delay_us']) AS tcp_delay_us,
        protocol,
        if(
            name = 'client:race_ended',
            arrayConcat(
                [
                    ('won_by_quic', '', 0., false, true, winner = 'quic'),
                    ('quic_late', '', 0., false, true, winner != 'quic' AND quic_us IS NOT NULL),
                    ('quic_failed', '', 0., false, true, quic_error != ''),
                    ('quic_cancelled', '', 0., false, true, winner != 'quic' AND quic_us IS NULL AND quic_error = ''),
                    ('quic_failed_otherwise', '', 0., false, true, quic_error != '' AND NOT has(errors, quic_error)),
                    ('quic', '', toFloat64(ifNull(quic_us, 0)), quic_us IS NOT NULL, false, false),
                    ('tcp', '', toFloat64(ifNull(tcp_us, 0)), tcp_us IS NOT NULL, false, false),
                    ('tcp_delay', '', toFloat64(ifNull(tcp_delay_us, 0)), tcp_delay_us IS NOT NULL, false, false)
                ],
                arrayMap(error -> ('quic_failed_with', error, 0., false, true, quic_error = error), errors)
            ),
            [
                ('ipv6', protocol, 0., false, true, JSONExtractString(more['winner']) = 'ipv6'),
                ('timer_fired', protocol, 0., false, true, more['timer_fired'] = 'true'),
                ('second_won', protocol, 0., false, true, toUInt64OrZero(more['winner_delay_us']) > 0)
            ]
        ) AS figures
    FROM (/* client_events.sql */)
    WHERE name IN ('client:race_ended', 'client:happy_eyeballs_ended')
)
ARRAY JOIN figures AS figure
WHERE figure.4 OR figure.5
