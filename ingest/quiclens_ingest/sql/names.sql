-- One row is a name under which lines may mean a connection of this step, and when: its id, an alias, or the key of a
-- client.
INSERT INTO {names:Identifier}
SELECT
    false AS is_key,
    connection_id AS name,
    from_at,
    to_at,
    step
FROM {connections:Identifier}
WHERE step = {step:UInt8} AND is_traced
UNION DISTINCT
SELECT
    aliases.role = 'client_key' AS is_key,
    aliases.alias AS name,
    traces.from_at,
    traces.to_at,
    traces.step
FROM connection_aliases AS aliases
INNER JOIN (SELECT * FROM {connections:Identifier} WHERE step = {step:UInt8} AND is_traced) AS traces
    ON traces.connection_id = aliases.connection_id
    AND traces.day = aliases.trace_day
WHERE aliases.trace_day IN (SELECT day FROM {connections:Identifier} WHERE step = {step:UInt8} AND is_traced)
    AND aliases.connection_id IN (SELECT connection_id FROM {connections:Identifier} WHERE step = {step:UInt8} AND is_traced)
