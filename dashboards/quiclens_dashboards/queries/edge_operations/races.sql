-- One row is one value of the chosen column: races of QUIC against TCP, most first. Late: TCP was there first, and QUIC
-- came up after; failed: it gave an error; cancelled: the app gave it up when TCP was there. How long each took, from the
-- race's start, where it came up.
SELECT
    ifNull(toString(${by:raw}), 'unknown') AS by_value,
    count() AS races,
    countIf(winner = 'quic') / races AS quic_won_share,
    countIf(winner != 'quic' AND quic_us IS NOT NULL) / races AS quic_late_share,
    countIf(quic_error != '') / races AS quic_failed_share,
    countIf(winner != 'quic' AND quic_us IS NULL AND quic_error = '') / races AS quic_cancelled_share,
    quantileExact(0.5)(quic_us) AS quic_p50,
    quantileExact(0.5)(tcp_us) AS tcp_p50,
    quantileExact(0.5)(tcp_delay_us) AS tcp_delay_p50,
    count() OVER () AS rows_in_all
FROM
(
    SELECT
        *,
        JSONExtractString(more['winner']) AS winner,
        JSONExtractString(more['quic_error']) AS quic_error,
        toUInt64OrNull(more['quic_us']) AS quic_us,
        toUInt64OrNull(more['tcp_us']) AS tcp_us,
        toUInt64OrNull(more['tcp_delay_us']) AS tcp_delay_us
    FROM (/* edge_operations/client_events.sql */)
    WHERE name = 'client:race_ended'
)
GROUP BY by_value
ORDER BY
    races DESC,
    by_value
LIMIT 100
