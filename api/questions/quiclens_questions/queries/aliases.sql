-- One row is one connection that went by this connection ID in a trace.
SELECT DISTINCT
    connection_id
FROM aliases_now
WHERE alias = {alias:String}
ORDER BY connection_id
LIMIT {limit:UInt32}
