-- One row is one implementation and one kind of path, shortest and least lossy first.
SELECT
    path,
    implementation,
    measured,
    connections,
    response_p50_bytes,
    p50,
    p95,
    count() OVER () AS rows_in_all
FROM (/* grid/alike.sql */)
ORDER BY
    rtt_class,
    loss_class,
    implementation
LIMIT 2000
