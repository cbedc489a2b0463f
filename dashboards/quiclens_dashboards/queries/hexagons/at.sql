-- One row is one hexagon with at least 20 measured requests, at its middle; what is no H3 cell is left out. Which of
-- h3ToGeo's two numbers is the latitude depends on the engine's version: a cell near the North Pole tells.
SELECT
    h3_cell,
    requests,
    measured,
    p50,
    p95,
    if(pole.1 > 60, middle.1, middle.2) AS latitude,
    if(pole.1 > 60, middle.2, middle.1) AS longitude
FROM
(
    SELECT
        toString(assumeNotNull(r.h3_cell)) AS h3_cell,
        reinterpretAsUInt64(reverse(unhex(leftPad(h3_cell, 16, '0')))) AS cell,
        toUInt64(576495936675512319) AS polar_cell,
        h3ToGeo(polar_cell) AS pole,
        h3ToGeo(if(h3IsValid(cell), cell, polar_cell)) AS middle,
        count() AS requests,
        countIf(is_measured) AS measured,
        quantileExactWeightedIf(0.5)(duration_us, millionths, is_measured) AS p50,
        quantileExactWeightedIf(0.95)(duration_us, millionths, is_measured) AS p95
    FROM (/* requests.sql */) AS r
    WHERE r.h3_cell IS NOT NULL AND h3IsValid(cell)
    GROUP BY h3_cell
    HAVING measured >= 20
)
ORDER BY
    requests DESC,
    h3_cell
LIMIT 5000
