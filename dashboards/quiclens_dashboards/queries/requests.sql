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
    AND (/* everything chosen */)
    AND $trust
