-- One row is one connection whose id begins so; hex digits are written small.
SELECT DISTINCT connection_id
FROM connections
WHERE startsWith(connection_id, {prefix:String}) OR startsWith(connection_id, lower({prefix:String}))
ORDER BY connection_id
LIMIT {limit:UInt32}
