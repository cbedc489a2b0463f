-- One row is one hexagon and carrier, of the hexagons and carriers with most requests that have a p95.
WITH chosen AS
(
    SELECT *
    FROM (/* hexagons/cells_of.sql */)
    WHERE p95 IS NOT NULL
)
SELECT
    h3_cell,
    carrier,
    p95
FROM chosen
WHERE h3_cell IN (SELECT h3_cell FROM chosen GROUP BY h3_cell ORDER BY sum(requests) DESC, h3_cell LIMIT 40)
    AND carrier IN (SELECT carrier FROM chosen GROUP BY carrier ORDER BY sum(requests) DESC, carrier LIMIT 12)
ORDER BY
    h3_cell,
    carrier
LIMIT 480
