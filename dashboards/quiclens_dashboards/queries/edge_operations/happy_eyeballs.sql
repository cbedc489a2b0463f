-- One row is one protocol: connections for which the client chose between IPv6 and IPv4, how often the timer fired so
-- that both were tried, and how much later the one that won was begun than the first.
SELECT
    JSONExtractString(more['protocol']) AS protocol,
    count() AS connections,
    countIf(JSONExtractString(more['winner']) = 'ipv6') / connections AS ipv6_share,
    countIf(more['timer_fired'] = 'true') / connections AS timer_fired_share,
    countIf(toUInt64OrZero(more['winner_delay_us']) > 0) / connections AS delayed_share,
    sum(toUInt64OrZero(more['winner_delay_us'])) / connections AS added_mean_us,
    max(toUInt64OrZero(more['winner_delay_us'])) AS added_max_us
FROM (/* edge_operations/client_events.sql */)
WHERE name = 'client:happy_eyeballs_ended'
GROUP BY protocol
ORDER BY
    connections DESC,
    protocol
LIMIT 20
