-- One row is one collector of the last seven days: when the last heartbeat was made that can be queried. No view shows
-- them: no trace is theirs.
SELECT
    substring(connection_id, length('heartbeat:') + 1) AS collector,
    fromUnixTimestamp64Micro(max(start_us), 'UTC') AS heartbeat_at,
    count() OVER () AS rows_in_all
FROM episodes
WHERE startsWith(connection_id, 'heartbeat:')
    AND kind = 'heartbeat'
    AND trace_day >= toDate($__toTime - INTERVAL 7 DAY, 'UTC')
    AND trace_day <= toDate($__toTime, 'UTC')
GROUP BY collector
ORDER BY heartbeat_at
LIMIT 500
