-- One row is one release that servers of a cluster began to run, the earliest first: its first request, and how many servers
-- and requests it has in the stretch. What ran first in the stretch, which begins a day before what is asked about, was not
-- deployed in it; a release that comes back is there once.
SELECT
    cluster,
    server_release,
    first_at AS at,
    servers,
    requests,
    count() OVER () AS all_deployments
FROM
(
    SELECT
        cluster,
        server_release,
        assumeNotNull(min(started_at)) AS first_at,
        uniqExact(server) AS servers,
        count() AS requests,
        min(first_at) OVER (PARTITION BY cluster) AS known_since
    FROM requests
    WHERE server_release IS NOT NULL
        AND started_at IS NOT NULL
        AND (/* in_window.sql */)
    /* conditions */
    GROUP BY
        cluster,
        server_release
)
WHERE first_at > known_since
    AND ({asked_since:Nullable(DateTime64(6, 'UTC'))} IS NULL OR first_at >= {asked_since:Nullable(DateTime64(6, 'UTC'))})
ORDER BY
    at,
    cluster,
    server_release
LIMIT {limit:UInt32}
