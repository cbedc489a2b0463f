-- One row is one way in which requests came to be, and were linked with their trace.
SELECT
    source,
    link,
    count() AS requests,
    countIf(coverage != 'none') AS traced,
    traced / requests AS traced_share,
    count() OVER () AS rows_in_all
FROM (/* requests.sql */)
GROUP BY
    source,
    link
ORDER BY
    requests DESC,
    source,
    link
LIMIT 50
