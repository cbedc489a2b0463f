-- One row is an hour of `requests` that may differ from what the changed connections and lines say.
WITH
    reached AS
    (
        SELECT connection_id
        FROM {changed_connections:Identifier}
        UNION ALL
        SELECT assumeNotNull(connection_id)
        FROM {changed_lines:Identifier}
        WHERE connection_id IS NOT NULL
        UNION ALL
        SELECT connection_id
        FROM connection_aliases
        WHERE alias IN
        (
            SELECT connection_id
            FROM {changed_lines:Identifier}
            UNION ALL
            SELECT client_key
            FROM {changed_lines:Identifier}
        )
    )
SELECT DISTINCT hour
FROM
(
    SELECT ifNull(toStartOfHour(started_at), toDateTime(0, 'UTC')) AS hour
    FROM streams
    WHERE connection_id IN (SELECT connection_id FROM reached)
    UNION ALL
    SELECT toStartOfHour(if(time_is = 'end', time - toIntervalMicrosecond(ifNull(duration_us, 0)), time)) AS hour
    FROM request_lines
    WHERE (log_id, offset) IN (SELECT log_id, offset FROM {changed_lines:Identifier})
    UNION ALL
    SELECT started_hour AS hour
    FROM requests
    WHERE connection_id IN (SELECT connection_id FROM reached)
        OR (log_id, offset) IN (SELECT log_id, offset FROM {changed_lines:Identifier})
)
ORDER BY hour
LIMIT 10000000
