-- One row: the share of the window's requests that have a trace; no row where there were no requests.
SELECT sum(traced) / sum(requests) AS traced_share
FROM request_rollups
WHERE started_hour > $__fromTime - INTERVAL 1 HOUR
    AND started_hour <= $__toTime
    AND $__timeFilter(bucket_at)
HAVING sum(requests) > 0
LIMIT 1
