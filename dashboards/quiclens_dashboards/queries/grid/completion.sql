-- One row is one implementation and one kind of path: the median duration, null below 4 requests.
SELECT
    implementation,
    path,
    p50
FROM (/* grid/alike.sql */)
ORDER BY
    rtt_class,
    loss_class,
    implementation
LIMIT 2000
