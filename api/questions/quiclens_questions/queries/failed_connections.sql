-- One row is one carrier, region and reason: connections that never became a request, and how many there were in all.
-- A log without packets (an application's own) is of no connection. In every row: how many rows tell of failed
-- connections, and how many failed in all.
SELECT
    carrier,
    region,
    reason,
    countIf(is_failed) AS connections,
    sum(count()) OVER (PARTITION BY carrier, region) AS of,
    countIf(connections > 0) OVER () AS all_rows,
    sum(connections) OVER () AS all_failed
FROM
(
    SELECT
        carrier,
        region,
        request_count = 0 AS is_failed,
        multiIf(
            NOT is_failed, '',
            close_reason != '', close_reason,
            close_code != '' AND close_code != '0', concat('closed with code ', close_code),
            NOT handshake_complete, 'handshake never completed',
            'no request was made'
        ) AS reason
    FROM (/* chosen_connections.sql */)
    WHERE packets > 0
)
GROUP BY
    carrier,
    region,
    reason
ORDER BY
    connections DESC,
    carrier,
    region,
    reason
LIMIT {limit:UInt32}
