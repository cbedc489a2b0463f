-- One row is a name by which a line of this step calls a connection, and when: an id or an alias, or the key of a client.
INSERT INTO {called:Identifier}
SELECT
    each.1 AS is_key,
    each.2 AS name,
    start_at,
    end_at
FROM {lines:Identifier}
ARRAY JOIN
    (/* names_of_a_line.sql */) AS each
WHERE step = {step:UInt8}
