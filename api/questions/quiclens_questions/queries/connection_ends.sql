-- One row is one connection with packets, as chosen_connections.sql has it, and how it ended: the reason and the code that were
-- logged ('' where none was), and the side that closed, which is the one that logged or its peer. A log from in between says
-- of nobody that it is local. Written into others.
SELECT
    *,
    close_reason AS reason,
    close_code AS code,
    multiIf(
        vantage NOT IN ('server', 'client') OR close_owner NOT IN ('local', 'remote'), '',
        (vantage = 'server') = (close_owner = 'local'), 'server',
        'client'
    ) AS closed_by
FROM (/* chosen_connections.sql */)
WHERE packets > 0
