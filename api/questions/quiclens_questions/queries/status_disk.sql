-- One row is one table: what it takes on disk.
SELECT
    table,
    sum(rows) AS stored_rows,
    sum(bytes_on_disk) AS stored_bytes
FROM system.parts
WHERE active AND database = currentDatabase()
GROUP BY table
ORDER BY
    stored_bytes DESC,
    table
LIMIT {limit:UInt32}
