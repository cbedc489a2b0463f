-- One row is a scratch table of a link that runs, or that was killed; the time it was made is in its name.
SELECT name
FROM system.tables
WHERE database = currentDatabase() AND match(name, '^link_[a-z_]+_[0-9a-f]{32}$')
ORDER BY name
