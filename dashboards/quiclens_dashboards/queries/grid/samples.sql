-- One row is one implementation and one kind of path: how many requests its median stands on.
SELECT
    implementation,
    path,
    measured
FROM (/* grid/alike.sql */)
ORDER BY
    rtt_class,
    loss_class,
    implementation
LIMIT 2000
