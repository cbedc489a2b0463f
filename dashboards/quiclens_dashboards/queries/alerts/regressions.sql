-- One row: in how many measures cells have just become worse, as `/api/v1/watch` finds them.
SELECT countIf(is_found) AS found
FROM (/* watch.sql */)
LIMIT 1
