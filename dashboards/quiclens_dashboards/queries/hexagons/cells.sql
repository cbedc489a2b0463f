-- One row is one hexagon and carrier, the largest p95 first; those without one last.
SELECT
    h3_cell,
    carrier,
    city,
    requests,
    traced,
    measured,
    p50,
    p95,
    count() OVER () AS rows_in_all
FROM (/* hexagons/cells_of.sql */)
ORDER BY
    p95 DESC NULLS LAST,
    requests DESC,
    h3_cell,
    carrier
LIMIT 500
