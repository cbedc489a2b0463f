-- One row is one figure of one connection's losses, or of one repair of a loss: the figure and the trigger ('' = of any) end
-- the key. A figure is a share, of what is counted; or a value, one each; or, of detections, both of each trigger that was
-- met: how long this one took, and of all of them whether it was this one.
SELECT
    arrayConcat(key_of, [toNullable(figure.1), toNullable(figure.2)]) AS key,
    sample_cluster,
    weight_of AS weight,
    weight_of AS counted_weight,
    figure.3 AS value,
    figure.4 AS number,
    figure.5 AS counted,
    figure.6 AS hits
FROM
(
    SELECT
        CAST([/* by */] AS Array(Nullable(String))) AS key_of,
        sample_cluster,
        connection_weight AS weight_of,
        groupUniqArrayArray(arrayMap(each -> each.1, repairs)) OVER () AS met,
        arrayConcat(
            arrayMap(
                share -> (share.1, '', 0., toUInt64(0), toUInt64(share.2), toUInt64(share.3)),
                [
                    ('connections_with_loss', 1, packets_lost > 0),
                    ('of_those_in_handshake', packets_lost > 0, packets_lost > 0 AND packets_lost_handshake > 0),
                    ('of_those_in_data', packets_lost > 0, packets_lost > 0 AND packets_lost_data > 0),
                    ('losses_spurious', packets_lost, least(packets_spurious, packets_lost)),
                    ('packets_lost', packets_sent, least(packets_lost, packets_sent)),
                    ('packets_lost_in_lossy', if(packets_lost > 0, packets_sent, 0), least(packets_lost, packets_sent)),
                    ('packets_retransmitted', packets_sent, least(retransmitted_packets, packets_sent)),
                    ('connections_with_pto', 1, ptos > 0),
                    ('ptos_spurious', ptos, least(ptos_spurious, ptos))
                ]
            ),
            arrayMap(
                value -> (value.1, '', ifNull(value.2, 0.), toUInt64(isNotNull(value.2)), toUInt64(0), toUInt64(0)),
                arrayFlatten(arrayMap(
                    each ->
                    [
                        ('retransmission_delay', toNullable(toFloat64(each.2))),
                        ('retransmission_delay_rtts', each.2 / nullIf(rtt_mean_us, 0)),
                        ('retransmissions', toNullable(toFloat64(each.4))),
                        ('detection_delay', toNullable(toFloat64(each.3)))
                    ],
                    repairs
                ))
            ),
            [(
                'detected_after_4_rtts', '', 0., toUInt64(0),
                toUInt64(arrayCount(each -> each.3 IS NOT NULL AND rtt_mean_us > 0, repairs)),
                toUInt64(arrayCount(each -> each.3 > 4 * rtt_mean_us AND rtt_mean_us > 0, repairs))
            )],
            arrayFlatten(arrayMap(
                each -> arrayMap(
                    trigger -> ('detection', trigger, ifNull(each.3 / nullIf(rtt_mean_us, 0), 0.), toUInt64(each.1 = trigger), toUInt64(1), toUInt64(each.1 = trigger)),
                    if(each.3 IS NULL OR ifNull(rtt_mean_us, 0) = 0, [], met)
                ),
                repairs
            ))
        ) AS figures
    FROM (/* chosen_connections.sql */) AS connections
    LEFT JOIN (/* repairs.sql */) AS repaired USING (connection_id, vantage, trace_id, analysis_version)
    WHERE packets > 0
)
ARRAY JOIN figures AS figure
WHERE figure.4 > 0 OR figure.5 > 0
