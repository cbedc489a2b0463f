-- One row is one connection with packets, as chosen_connections.sql has it, and how it ended: the reason and the code that were
-- logged ('' where none was), and the side that closed, which is the one that logged or its peer. Where the chosen trace has no
-- close, another one of the connection may: only a client sees a stateless reset. A log from in between says of nobody that it
-- is local. Written into others.
SELECT
    *,
    if(close_reason = '' AND close_code = '', told, (close_reason, toString(close_code), toString(close_owner), toString(vantage))) AS close,
    close.1 AS reason,
    close.2 AS code,
    multiIf(
        close.4 NOT IN ('server', 'client') OR close.3 NOT IN ('local', 'remote'), '',
        (close.4 = 'server') = (close.3 = 'local'), 'server',
        'client'
    ) AS closed_by
FROM (/* chosen_connections.sql */) AS connections
LEFT JOIN
(
    SELECT
        connection_id,
        argMin(
            (close_reason, toString(close_code), toString(close_owner), toString(vantage)),
            (transform(vantage, ['server', 'client', 'network'], [0, 1, 2], 3), trace_id)
        ) AS told
    FROM (/* connections_in_window.sql */)
    WHERE close_reason != '' OR close_code != ''
    GROUP BY connection_id
) AS ended USING (connection_id)
WHERE packets > 0
