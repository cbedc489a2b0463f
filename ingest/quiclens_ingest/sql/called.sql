-- One row is a name by which a line of this step calls a connection, and when: an id or an alias, or the key of a client.
INSERT INTO {called:Identifier}
SELECT
    each.1 AS is_key,
    each.2 AS name,
    start_at,
    end_at
FROM {lines:Identifier}
ARRAY JOIN
    arrayConcat(
        if(isNull(connection_id), [], [(false, assumeNotNull(connection_id))]),
        if(isNull(client_key), [], [(true, assumeNotNull(client_key))])
    ) AS each
WHERE step = {step:UInt8}
