-- One row is one connection whose id begins so.
SELECT DISTINCT connection_id
FROM connections
WHERE startsWith(connection_id, {prefix:String})
ORDER BY connection_id
LIMIT {limit:UInt32}
