-- One row is one server, or one stack and vantage where the traces name no server.
SELECT
    server,
    if(server IS NULL, stack, NULL) AS stack_name,
    if(server IS NULL, vantage, NULL) AS vantage_name,
    count() AS traces,
    sum(events_seen) AS events,
    sum(requests) AS requests,
    sum(values_unread) AS values_unread_in_all,
    max(started_at + toIntervalMicrosecond(duration_us)) AS last_event_at
FROM connections_now
GROUP BY
    server,
    stack_name,
    vantage_name
ORDER BY
    server NULLS LAST,
    stack_name,
    vantage_name
LIMIT {limit:UInt32}
