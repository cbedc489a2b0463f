-- One row is one thing that goes wrong with connections: by how many standard errors its share among those that began in
-- the last ten minutes of the window is above its share in the time before; 0 where it is not 1.5 times as large. No row where
-- one of both has fewer than 100 connections. Rows that stand for several connections count as fewer independent ones
-- (Kish, Survey Sampling, 1965, 11.7). Written into others.
SELECT
    what,
    sumIf(weight, is_new) AS new_weight,
    sumIf(weight, NOT is_new) AS old_weight,
    new_weight * new_weight / sumIf(weight * weight, is_new) AS new_connections,
    old_weight * old_weight / sumIf(weight * weight, NOT is_new) AS old_connections,
    sumIf(weight, is_new AND is_hit) / new_weight AS new_share,
    (sumIf(weight, NOT is_new AND is_hit) / old_weight * old_connections + 0.5) / (old_connections + 1) AS old_share,
    (new_share * new_connections + old_share * old_connections) / (new_connections + old_connections) AS share,
    if(
        new_share >= 1.5 * old_share,
        (new_share - old_share) / sqrt(share * (1 - share) * (1 / new_connections + 1 / old_connections)),
        0
    ) AS standard_errors
FROM
(
    SELECT
        weight,
        started_at >= $__toTime - INTERVAL 10 MINUTE AS is_new,
        lower(close_reason) AS why,
        close_code AS code,
        arrayJoin(
            [
                ('handshakes', true, NOT handshake_complete),
                (
                    'closes',
                    true,
                    startsWith(why, 'stateless_reset')
                        OR startsWith(why, 'stateless reset')
                        OR (
/* question closed_with_error, over alerts */
)
                ),
                ('zero_rtt', zero_rtt IN ('accepted', 'rejected'), zero_rtt = 'rejected')
            ]
        ) AS fact,
        fact.1 AS what,
        fact.2 AS is_counted,
        fact.3 AS is_hit
    FROM (/* connections.sql */)
    WHERE vantage = 'server'
)
WHERE is_counted
GROUP BY what
HAVING new_connections >= 100 AND old_connections >= 100
