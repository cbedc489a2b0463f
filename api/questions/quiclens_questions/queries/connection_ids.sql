-- One row is one connection ID that a trace saw, and in which role.
SELECT
    alias,
    role,
    first_us,
    last_us
FROM aliases_of(connection_id = {connection_id:String})
WHERE vantage = {vantage:String}
    AND trace_id = {trace_id:String}
ORDER BY
    first_us,
    alias,
    role
LIMIT {limit:UInt32}
