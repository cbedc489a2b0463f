-- One row is one table of which retention dropped days, and why.
SELECT
    table_name,
    why,
    uniqExact(day) AS days,
    min(day) AS first_day,
    max(day) AS last_day,
    sum(rows) AS rows_dropped,
    sum(bytes) AS bytes_dropped,
    max(dropped_at) AS last_dropped_at,
    count() OVER () AS rows_in_all
FROM dropped_days
GROUP BY
    table_name,
    why
ORDER BY
    table_name,
    why
LIMIT 100
