-- One row is one connection and one figure of its losses, the last of the key: what is counted of it, and what of that counts.
SELECT
    arrayConcat(CAST([/* by */] AS Array(Nullable(String))), [toNullable(figure.1)]) AS key,
    sample_cluster,
    connection_weight AS weight,
    toUInt64(figure.2) AS number,
    toUInt64(figure.3) AS hits
FROM (/* chosen_connections.sql */)
ARRAY JOIN
    [
        ('connections_with_loss', 1, packets_lost > 0),
        ('of_those_in_handshake', packets_lost > 0, packets_lost > 0 AND packets_lost_handshake > 0),
        ('of_those_in_data', packets_lost > 0, packets_lost > 0 AND packets_lost_data > 0),
        ('losses_spurious', packets_lost, least(packets_spurious, packets_lost)),
        ('connections_with_pto', 1, ptos > 0),
        ('ptos_spurious', ptos, least(ptos_spurious, ptos))
    ] AS figure
WHERE packets > 0
