-- One row is one request of a tail: how long it took, less the share that is asked for of what a cause cost it, if it is
-- measured (it ended as it should, its duration is known, and with a cause to leave out the trace could have shown it); of
-- those that ended, whether it failed; and what is counted: requests; with a trace; repaired; damaged; measured; of those the
-- ones that the cause delayed; with a trace that cannot show it; their weight.
SELECT
    /* key columns */
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    ifNull(duration_us, 0) - if({without:String} = '', 0, least(ifNull(duration_us, 0), toUInt64(round(saves[{without:String}] * {ratio:Float64})))) AS value,
    if({without:String} = '', requests.weight, trace_weight) AS weight,
    toUInt8(is_measured) AS number,
    requests.weight AS counted_weight,
    toUInt8(complete) AS counted,
    toUInt8(complete AND (/* ingest/failed_request.sql */)) AS hits,
    coverage != 'none' AS is_traced,
    {without:String} != '' AND is_traced AND has(cannot_show, {without:String}) AS cannot_show_it,
    (/* ingest/measured_request.sql */) AND ({without:String} = '' OR (is_traced AND NOT cannot_show_it)) AS is_measured,
    [
        1,
        is_traced,
        grade = 'repaired',
        grade = 'damaged',
        is_measured,
        {without:String} != '' AND is_measured AND saves[{without:String}] > 0,
        cannot_show_it,
        requests.weight
    ] AS counts
FROM requests
WHERE (/* in_window.sql */)
/* conditions */
