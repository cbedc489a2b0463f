-- One row is an alias of at least 4 bytes by which a line names a connection. Written into others.
SELECT
    alias,
    connection_id
FROM {aliases:Identifier}
WHERE length(alias) >= 8 AND alias IN (SELECT connection_id FROM {lines:Identifier})
