-- One row is one stretch of time: quantiles over QUIC and over TCP, null where too few were measured for one.
SELECT
    $__timeInterval(assumeNotNull(started_at)) AS time,
    if(countIf(is_quic) >= 1, quantileExactWeightedIf(0.5)(duration_us, millionths, is_quic), NULL) AS quic_p50,
    if(countIf(is_quic) >= 20, quantileExactWeightedIf(0.95)(duration_us, millionths, is_quic), NULL) AS quic_p95,
    if(countIf(is_tcp) >= 1, quantileExactWeightedIf(0.5)(duration_us, millionths, is_tcp), NULL) AS tcp_p50,
    if(countIf(is_tcp) >= 20, quantileExactWeightedIf(0.95)(duration_us, millionths, is_tcp), NULL) AS tcp_p95
FROM
(
    SELECT
        started_at,
        duration_us,
        millionths,
        ifNull(protocol = 'h3', false) AS is_quic,
        ifNull(protocol IN ('h1', 'h2'), false) AS is_tcp
    FROM (/* requests.sql */)
    WHERE is_measured
)
GROUP BY time
ORDER BY time
