-- One row is a day that has something to link, or requests.
SELECT DISTINCT day
FROM
(
    SELECT trace_day AS day
    FROM connections
    UNION DISTINCT
    SELECT line_day AS day
    FROM request_lines
    UNION DISTINCT
    SELECT day
    FROM request_versions
)
ORDER BY day
