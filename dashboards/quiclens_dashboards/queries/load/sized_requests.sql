-- One row is one request of the window with the class of its response's size; bodies are counted, headers are not.
-- Written into others.
SELECT
    *,
    multiIf(
        response_bytes IS NULL, 8,
        response_bytes <= 100, 1,
        response_bytes <= 1000, 2,
        response_bytes <= 5000, 3,
        response_bytes <= 10000, 4,
        response_bytes <= 100000, 5,
        response_bytes <= 1000000, 6,
        7
    ) AS size_class,
    ['≤ 100 B', '≤ 1 kB', '≤ 5 kB', '≤ 10 kB', '≤ 100 kB', '≤ 1 MB', '> 1 MB', 'unknown'][size_class] AS size
FROM (/* requests.sql */)
