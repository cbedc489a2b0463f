-- One row is one connection of a group whose events chance kept, or all of a group's whose events were certain to be kept
-- (weight 1): what its events sum up to. Connections of other traces than the chosen are not among them.
SELECT
    by_key,
    weight,
    [sum(events), sum(bytes_sent), sum(packets_sent), sum(packets_lost), sum(rtt_us), sum(rtt_samples)] AS sums
FROM
(
    SELECT
        toString(CAST([/* by */] AS Array(Nullable(String)))) AS by_key,
        connection_id,
        vantage,
        trace_id,
        1 / (event_probability * trace_probability) AS weight
    FROM (/* chosen_connections.sql */)
    WHERE packets > 0 AND events_kept = 'all' AND event_probability * trace_probability BETWEEN 0.000001 AND 1
) AS c
INNER JOIN
(
    SELECT
        connection_id,
        vantage,
        trace_id,
        toFloat64(count()) AS events,
        toFloat64(sumIf(ifNull(packet_bytes, 0), name = 'quic:packet_sent')) AS bytes_sent,
        toFloat64(countIf(name = 'quic:packet_sent')) AS packets_sent,
        toFloat64(countIf(name = 'quic:packet_lost')) AS packets_lost,
        toFloat64(sum(ifNull(latest_rtt_us, 0))) AS rtt_us,
        toFloat64(count(latest_rtt_us)) AS rtt_samples
    FROM events_now
    WHERE (/* days_of_window.sql */)
        AND connection_id IN (SELECT connection_id FROM connections WHERE (/* began_in_window.sql */))
    GROUP BY
        connection_id,
        vantage,
        trace_id
) AS e ON e.connection_id = c.connection_id AND e.vantage = c.vantage AND e.trace_id = c.trace_id
GROUP BY
    by_key,
    weight,
    if(weight = 1, '', c.connection_id)
ORDER BY
    by_key,
    weight,
    min(c.connection_id)
LIMIT {limit:UInt32}
