-- One row is one value of the chosen column: its requests over QUIC and over TCP side by side, most requests first.
SELECT
    ifNull(toString(${by:raw}), 'unknown') AS by_value,
    countIf(is_quic) AS quic_measured,
    countIf(is_tcp) AS tcp_measured,
    if(quic_measured >= 1, quantileExactWeightedIf(0.5)(duration_us, millionths, is_quic), NULL) AS quic_p50,
    if(tcp_measured >= 1, quantileExactWeightedIf(0.5)(duration_us, millionths, is_tcp), NULL) AS tcp_p50,
    if(quic_measured >= 20, quantileExactWeightedIf(0.95)(duration_us, millionths, is_quic), NULL) AS quic_p95,
    if(tcp_measured >= 20, quantileExactWeightedIf(0.95)(duration_us, millionths, is_tcp), NULL) AS tcp_p95,
    count() OVER () AS rows_in_all
FROM
(
    SELECT
        *,
        ifNull(protocol = 'h3', false) AS is_quic,
        ifNull(protocol IN ('h1', 'h2'), false) AS is_tcp
    FROM (/* requests.sql */)
    WHERE is_measured
)
GROUP BY by_value
ORDER BY
    count() DESC,
    by_value
LIMIT 50
