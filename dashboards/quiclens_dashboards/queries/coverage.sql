-- One row: how many requests the dashboard speaks of, and how many of them have a trace.
SELECT
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    traced / nullIf(requests, 0) AS traced_share
FROM (/* requests.sql */)
LIMIT 1
