-- One row is one value of one column of an hour's requests, counted from their rollups.
INSERT INTO {dimensions:Identifier}
SELECT
    started_hour,
    pair.1 AS dimension,
    assumeNotNull(pair.2) AS value,
    sum(requests) AS requests
FROM request_rollups
ARRAY JOIN
    [
        ('carrier', toString(carrier)),
        ('region', toString(region)),
        ('city', toString(city)),
        ('pop', toString(pop)),
        ('protocol', toString(protocol)),
        ('network_type', toString(network_type)),
        ('app_version', toString(app_version)),
        ('server_release', toString(server_release))
    ] AS pair
WHERE started_hour IN {hours:Array(DateTime('UTC'))} AND pair.2 IS NOT NULL
GROUP BY
    started_hour,
    dimension,
    value
ORDER BY
    dimension,
    started_hour,
    value
SETTINGS do_not_merge_across_partitions_select_final = 1
