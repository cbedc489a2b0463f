-- One row is one way in which connections were closed, and by whom, most first; `local` is the side that logged.
SELECT
    multiIf(
        close_reason != '', close_reason,
        close_code != '', concat('code ', close_code),
        'no close was logged'
    ) AS reason,
    if(close_owner = '', 'unknown', toString(close_owner)) AS owner,
    toString(vantage) AS logged_by,
    count() AS connections,
    connections / sum(connections) OVER () AS connections_share,
    count() OVER () AS rows_in_all
FROM (/* connections.sql */)
GROUP BY
    reason,
    owner,
    logged_by
ORDER BY
    connections DESC,
    reason,
    owner,
    logged_by
LIMIT 100
