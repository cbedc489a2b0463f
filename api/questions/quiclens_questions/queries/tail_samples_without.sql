-- One row is one sample of a tail without a cause: how long a request took that ended as it should, less the share of what
-- the cause cost it that is asked for, of those whose trace could have shown it.
SELECT
    /* key columns */
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    assumeNotNull(duration_us) - least(assumeNotNull(duration_us), toUInt64(round(saves[{without:String}] * {ratio:Float64}))) AS value,
    trace_weight AS weight,
    1 AS number
FROM requests
WHERE (/* ingest/measured_request.sql */)
    AND coverage != 'none'
    AND NOT has(cannot_show, {without:String})
    AND (/* in_window.sql */)
/* conditions */
