-- One row is one collector: when the last heartbeat was made that can be queried. No view shows them: no trace is theirs.
SELECT
    substring(connection_id, length('heartbeat:') + 1) AS collector,
    fromUnixTimestamp64Micro(max(start_us), 'UTC') AS heartbeat_at
FROM episodes
WHERE startsWith(connection_id, 'heartbeat:') AND kind = 'heartbeat'
GROUP BY collector
ORDER BY collector
LIMIT {limit:UInt32}
