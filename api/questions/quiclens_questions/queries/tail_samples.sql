-- One row is one sample of a tail: how long a request took that ended as it should, less the share of what a cause cost it
-- that is asked for. Without a cause all such requests are there, with one those whose trace could have shown it.
SELECT
    /* key columns */
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    assumeNotNull(duration_us) - least(assumeNotNull(duration_us), toUInt64(round(saves[{without:String}] * {ratio:Float64}))) AS value,
    if({without:String} = '', requests.weight, trace_weight) AS weight,
    1 AS number
FROM requests
WHERE (/* ingest/measured_request.sql */)
    AND ({without:String} = '' OR (coverage != 'none' AND NOT has(cannot_show, {without:String})))
    AND (/* in_window.sql */)
/* conditions */
