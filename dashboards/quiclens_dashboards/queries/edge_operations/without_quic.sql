-- One row is one carrier none of whose requests came by QUIC, with at least 20 requests (of a carrier with 30 % of QUIC,
-- 20 requests have none once in 1,250 times), most requests first.
SELECT
    carrier,
    any(country) AS country,
    any(network_type) AS network_type,
    count() AS measured,
    min(started_at) AS first_at,
    max(started_at) AS last_at,
    count() OVER () AS rows_in_all
FROM (/* requests.sql */)
WHERE protocol IS NOT NULL AND carrier IS NOT NULL
GROUP BY carrier
HAVING countIf(protocol = 'h3') = 0 AND measured >= 20
ORDER BY
    measured DESC,
    carrier
LIMIT 1000
