-- One row is a scratch table of a link that was killed long ago.
SELECT name
FROM system.tables
WHERE database = currentDatabase()
    AND match(name, '^link_[a-z_]+_[0-9a-f]{32}$')
    AND metadata_modification_time < now() - INTERVAL 1 HOUR
ORDER BY name
LIMIT 10000
