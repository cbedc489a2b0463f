-- One row: in how many measures cells have just become worse, as `quiclens watch` finds them.
SELECT countIf(is_found) AS found
FROM (/* quiclens watch */)
LIMIT 1
