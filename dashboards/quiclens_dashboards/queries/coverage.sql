-- One row: how many requests the dashboard speaks of, how many of them have a trace, and how many a damaged one: records
-- are missing, so that their largest part may be another.
SELECT
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    traced / nullIf(requests, 0) AS traced_share,
    countIf(grade = 'damaged') AS damaged
FROM (/* requests.sql */)
LIMIT 1
