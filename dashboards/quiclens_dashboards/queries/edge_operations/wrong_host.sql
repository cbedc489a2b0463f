-- One row is one host where packets landed and one host that their connection ID names, most packets first.
SELECT
    server,
    cluster,
    id_server,
    id_cluster,
    toString(id_host) AS id_host,
    toString(id_version) AS id_version,
    uniqExact(id_worker) AS workers,
    toString(min(id_process)) AS id_process,
    sum(packets) AS packets,
    min(at) AS first_at,
    max(at) AS last_at,
    count() OVER () AS rows_in_all
FROM (/* edge_operations/server_ids.sql */)
WHERE name = 'quic:packet_dropped'
GROUP BY
    server,
    cluster,
    id_server,
    id_cluster,
    id_host,
    id_version
ORDER BY
    packets DESC,
    server,
    id_host
LIMIT 100
