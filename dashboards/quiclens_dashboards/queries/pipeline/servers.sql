-- One row is one server, or one stack where the traces name none: its traces of the window, longest silent first.
SELECT
    ifNull(server, concat(stack, ' (no name)')) AS server_name,
    max(started_at + toIntervalMicrosecond(duration_us)) AS last_event_at,
    count() AS traces,
    sum(events_seen) AS events,
    sum(requests) AS requests,
    min(event_probability) AS event_probability,
    min(trace_probability) AS trace_probability,
    count() OVER () AS rows_in_all
FROM connections FINAL
WHERE trace_day >= toDate($__fromTime, 'UTC') AND trace_day <= toDate($__toTime, 'UTC') AND $__timeFilter(started_at)
GROUP BY server_name
ORDER BY
    last_event_at,
    server_name
LIMIT 500
