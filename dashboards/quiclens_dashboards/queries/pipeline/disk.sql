-- One row is one table: its rows, and what it takes on disk. A reader may ask system.tables, not system.parts.
SELECT
    name AS table_name,
    total_rows AS stored_rows,
    total_bytes AS stored_bytes
FROM system.tables
WHERE database = currentDatabase() AND total_bytes > 0
ORDER BY
    stored_bytes DESC,
    table_name
LIMIT 100
