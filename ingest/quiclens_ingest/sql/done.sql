-- One row is a connection that linking has had in hand.
INSERT INTO {done:Identifier}
SELECT DISTINCT connection_id
FROM {connections:Identifier}
WHERE connection_id NOT IN (SELECT connection_id FROM {done:Identifier})
