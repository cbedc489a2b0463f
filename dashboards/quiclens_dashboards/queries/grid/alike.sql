-- One row is one implementation and one kind of path, by the least RTT of the request and the loss of its connection:
-- complete traced requests of the chosen size, of connections that began in the window. Written into others.
SELECT
    implementation,
    rtt_class,
    loss_class,
    concat(
        ['< 20 ms', '< 50 ms', '< 100 ms', '< 200 ms', '≥ 200 ms'][rtt_class],
        ', ',
        ['no loss', 'loss < 1 %', 'loss < 5 %', 'loss ≥ 5 %'][loss_class]
    ) AS path,
    count() AS measured,
    uniqExact(connection_id) AS connections,
    quantileExactWeighted(0.5)(response_bytes, trace_millionths) AS response_p50_bytes,
    if(measured >= 4, quantileExactWeighted(0.5)(duration_us, trace_millionths), NULL) AS p50,
    if(measured >= 20, quantileExactWeighted(0.95)(duration_us, trace_millionths), NULL) AS p95
FROM
(
    SELECT
        ifNull(toString(r.stack), 'unknown') AS implementation,
        r.connection_id AS connection_id,
        assumeNotNull(r.duration_us) AS duration_us,
        r.response_bytes AS response_bytes,
        r.trace_millionths AS trace_millionths,
        multiIf(
            r.min_rtt_us < 20000, 1,
            r.min_rtt_us < 50000, 2,
            r.min_rtt_us < 100000, 3,
            r.min_rtt_us < 200000, 4,
            5
        ) AS rtt_class,
        multiIf(
            c.packets_lost = 0, 1,
            c.packets_lost < 0.01 * c.packets_sent, 2,
            c.packets_lost < 0.05 * c.packets_sent, 3,
            4
        ) AS loss_class
    FROM
    (
        SELECT *
        FROM (/* requests.sql */)
        WHERE is_measured
            AND coverage != 'none'
            AND min_rtt_us IS NOT NULL
            AND response_bytes >= ${least_bytes:raw}
            AND response_bytes <= ${most_bytes:raw}
    ) AS r
    INNER JOIN (/* connections.sql */) AS c ON c.connection_id = r.connection_id
)
GROUP BY
    implementation,
    rtt_class,
    loss_class
