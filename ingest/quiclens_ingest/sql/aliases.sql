-- One row is a name that lines may have for a connection in hand: as in `aliases_now`.
INSERT INTO {aliases:Identifier}
SELECT DISTINCT
    alias,
    connection_id,
    role
FROM connection_aliases
WHERE trace_day IN (SELECT day FROM {connections:Identifier})
    AND connection_id IN (SELECT connection_id FROM {connections:Identifier})
    AND (trace_id, connection_id) IN (SELECT trace_id, connection_id FROM {traces:Identifier})
