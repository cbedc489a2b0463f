-- One row: how many cells have just become slower, as `quiclens watch` finds them.
SELECT countIf(is_found) AS found
FROM (/* quiclens watch */)
LIMIT 1
