-- One row is one request: whether it failed, of those that ended; and what else a tail counts, for which it need not have:
-- requests; with a trace; repaired; damaged; measured (ended as it should, its duration known, and with a cause to leave out
-- the trace could have shown it); of those the ones that the cause delayed; with a trace that cannot show it; their weight.
SELECT
    /* key columns */
    coalesce(user_hash, connection_id, request_id) AS sample_cluster,
    requests.weight AS weight,
    toUInt8(complete) AS number,
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
