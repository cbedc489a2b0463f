-- One row is one choice between IPv6 and IPv4 that an app logged: how much later the family that won was begun than the first,
-- in place of what counts. The figure and the protocol end the key.
SELECT
    arrayConcat(CAST([/* by */] AS Array(Nullable(String))), [toNullable('added_mean'), toNullable(protocol)])
        AS key,
    sample_cluster,
    connection_weight AS weight,
    1 AS number,
    toUInt64OrZero(more['winner_delay_us']) AS hits
FROM (/* client_events.sql */)
WHERE name = 'client:happy_eyeballs_ended'
