-- One row is one table of which retention dropped days, and why.
SELECT
    table_name,
    why,
    uniqExact(day) AS days,
    max(day) AS last_day,
    sum(rows) AS rows_dropped,
    sum(bytes) AS bytes_dropped,
    max(dropped_at) AS last_dropped_at
FROM dropped_days
GROUP BY
    table_name,
    why
ORDER BY
    table_name,
    why
LIMIT {limit:UInt32}
