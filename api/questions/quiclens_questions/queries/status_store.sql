-- One row: the store as a whole.
SELECT
    (SELECT max(number) FROM schema_migrations LIMIT 1) AS schema_version,
    (SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase() LIMIT 1) AS disk_bytes,
    (SELECT count() FROM request_lines FINAL LIMIT 1) AS request_lines
LIMIT 1
