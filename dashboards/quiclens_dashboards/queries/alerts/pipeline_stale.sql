-- One row: for how many seconds no newer heartbeat of the most silent collector could be queried, of those that had one
-- yesterday or today; no row where none had.
SELECT max(silent_s) AS silent_s
FROM
(
    SELECT toInt64(toUnixTimestamp($__toTime)) - intDiv(max(start_us), 1000000) AS silent_s
    FROM episodes
    WHERE startsWith(connection_id, 'heartbeat:')
        AND kind = 'heartbeat'
        AND trace_day >= toDate($__toTime - INTERVAL 1 DAY, 'UTC')
        AND trace_day <= toDate($__toTime, 'UTC')
    GROUP BY connection_id
)
HAVING count() > 0
LIMIT 1
