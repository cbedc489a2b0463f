-- One row is an alias by which lines name a connection and that more undated connections have than `most`, and one of
-- these. Undated ones are in hand wherever a line names one of them, so that what is crowded is so in every step.
INSERT INTO {crowded:Identifier}
SELECT
    alias,
    min(each.connection_id) AS connection_id
FROM (/* aliases_of_lines.sql */) AS each
WHERE each.connection_id IN (SELECT connection_id FROM {connections:Identifier} WHERE is_traced AND isNull(from_at))
GROUP BY alias
HAVING uniqExact(each.connection_id) > {most:UInt64}
