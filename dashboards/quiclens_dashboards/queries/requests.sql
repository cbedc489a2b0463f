-- One row is one dated request of the window that fits what was chosen, whether its duration counts, and for how many
-- millionths of a request it stands, and its parts. Written into others.
SELECT
    *,
    (/* quiclens measured_request */) AS is_measured,
    toUInt64(round(weight * 1000000)) AS millionths,
    toUInt64(round(trace_weight * 1000000)) AS trace_millionths
FROM requests
WHERE started_hour > $__fromTime - INTERVAL 1 HOUR
    AND started_hour <= $__toTime
    AND $__timeFilter(started_at)
    AND $__conditionalAll(carrier IN (${carrier:singlequote}), $carrier)
    AND $__conditionalAll(region IN (${region:singlequote}), $region)
    AND $__conditionalAll(city IN (${city:singlequote}), $city)
    AND $__conditionalAll(pop IN (${pop:singlequote}), $pop)
    AND $__conditionalAll(network_type IN (${network_type:singlequote}), $network_type)
    AND $__conditionalAll(app_version IN (${app_version:singlequote}), $app_version)
    AND $trust
